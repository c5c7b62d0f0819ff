"""Sequences of an idempotent producer: consecutive, kept in order, begun anew under the next epoch after a gap."""

from __future__ import annotations

import pytest

from kafka_zk.client.producer.idempotence import Idempotence
from kafka_zk.client.producer.producer_batch import ProducerBatch
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def batch_of(count: int, partition: TopicPartition = P0) -> ProducerBatch:
    batch = ProducerBatch(partition, 0, 0)
    for _ in range(count):
        assert batch.append(1, None, b"v", (), None, 1 << 20, 1.0)
    return batch


@pytest.fixture
def idempotence() -> Idempotence:
    state = Idempotence()
    state.take_id(7, 0)
    return state


def sent(idempotence: Idempotence, *batches: ProducerBatch) -> None:
    for batch in batches:
        assert idempotence.may_drain(batch)
        idempotence.stamp(batch)


def stamps(*batches: ProducerBatch) -> list[tuple[int, int, int]]:
    return [(batch.producer_id, batch.producer_epoch, batch.base_sequence) for batch in batches]


def test_nothing_is_sent_before_there_is_an_id() -> None:
    state = Idempotence()
    assert state.needs_id
    assert not state.may_drain(batch_of(1))


def test_sequences_follow_one_another_in_each_partition(idempotence: Idempotence) -> None:
    first, second, other = batch_of(3), batch_of(2), batch_of(5, P1)
    sent(idempotence, first, second, other)
    assert stamps(first, second, other) == [(7, 0, 0), (7, 0, 3), (7, 0, 0)]


def test_of_batches_to_be_sent_again_only_the_first_may_go(idempotence: Idempotence) -> None:
    first, second = batch_of(3), batch_of(2)
    sent(idempotence, first, second)
    assert idempotence.may_retry(first, ErrorCode.NETWORK_EXCEPTION, -1)
    assert idempotence.may_drain(first)
    assert not idempotence.may_drain(second)
    idempotence.succeeded(first, 0)
    assert idempotence.may_drain(second)


def test_a_gap_before_a_batch_is_waited_out(idempotence: Idempotence) -> None:
    first, second = batch_of(3), batch_of(2)
    sent(idempotence, first, second)
    assert idempotence.may_retry(second, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    idempotence.raise_epoch_if_needed()
    assert stamps(first, second) == [(7, 0, 0), (7, 0, 3)]


def test_a_batch_that_was_next_and_is_out_of_order_all_the_same_begins_a_new_epoch(idempotence: Idempotence) -> None:
    first, second = batch_of(3), batch_of(2)
    sent(idempotence, first, second)
    idempotence.succeeded(first, 0)
    assert idempotence.may_retry(second, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    idempotence.raise_epoch_if_needed()
    assert stamps(second) == [(7, 1, 0)]


def test_a_batch_sent_under_a_new_epoch_and_out_of_order_once_more_begins_another(idempotence: Idempotence) -> None:
    first, second = batch_of(3), batch_of(2)
    sent(idempotence, first, second)
    idempotence.failed(first, ErrorCode.INVALID_RECORD, may_have_been_taken=False)
    idempotence.raise_epoch_if_needed()
    # What was under way is out of order by the old epoch: that is no news.
    assert idempotence.may_retry(second, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    idempotence.raise_epoch_if_needed()
    assert stamps(second) == [(7, 1, 0)]
    sent(idempotence, second)
    assert idempotence.may_retry(second, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    idempotence.raise_epoch_if_needed()
    assert stamps(second) == [(7, 2, 0)]


def test_a_record_given_up_makes_what_follows_begin_anew(idempotence: Idempotence) -> None:
    first, second = batch_of(3), batch_of(2)
    sent(idempotence, first, second)
    idempotence.failed(first, ErrorCode.INVALID_RECORD, may_have_been_taken=False)
    idempotence.raise_epoch_if_needed()
    assert stamps(second) == [(7, 1, 0)]
    third = batch_of(1)
    sent(idempotence, third)
    assert stamps(third) == [(7, 1, 2)]


def test_other_partitions_change_to_the_new_epoch_once_nothing_is_under_way_there(idempotence: Idempotence) -> None:
    here, there = batch_of(3), batch_of(2, P1)
    sent(idempotence, here, there)
    idempotence.failed(here, ErrorCode.INVALID_RECORD, may_have_been_taken=False)
    idempotence.raise_epoch_if_needed()
    later = batch_of(1, P1)
    assert not idempotence.may_drain(later)
    idempotence.succeeded(there, 0)
    sent(idempotence, later)
    assert stamps(there, later) == [(7, 0, 0), (7, 1, 0)]


def test_after_an_expired_batch_the_partition_waits_until_its_fate_can_be_told(idempotence: Idempotence) -> None:
    expired, under_way = batch_of(3), batch_of(2)
    sent(idempotence, expired, under_way)
    idempotence.expired(expired)
    idempotence.failed(expired, None, may_have_been_taken=True)
    later = batch_of(1)
    idempotence.resolve()
    assert not idempotence.may_drain(later)
    # The broker took the one behind it, so it had taken the expired one.
    idempotence.succeeded(under_way, 3)
    idempotence.resolve()
    idempotence.raise_epoch_if_needed()
    sent(idempotence, later)
    assert stamps(later) == [(7, 0, 5)]


def test_an_expired_batch_that_nothing_vouches_for_ends_the_epoch(idempotence: Idempotence) -> None:
    expired = batch_of(3)
    sent(idempotence, expired)
    idempotence.expired(expired)
    idempotence.failed(expired, None, may_have_been_taken=True)
    idempotence.resolve()
    idempotence.raise_epoch_if_needed()
    later = batch_of(1)
    sent(idempotence, later)
    assert stamps(later) == [(7, 1, 0)]


def test_a_broker_that_forgot_the_producer_is_sent_the_same_again_under_a_new_epoch(idempotence: Idempotence) -> None:
    first, second = batch_of(3), batch_of(2)
    sent(idempotence, first, second)
    idempotence.succeeded(first, 10)
    assert idempotence.may_retry(second, ErrorCode.UNKNOWN_PRODUCER_ID, 13)
    idempotence.raise_epoch_if_needed()
    assert stamps(second) == [(7, 1, 0)]
    # Its twin under way comes back with the same error: it was moved already.
    assert idempotence.may_retry(second, ErrorCode.UNKNOWN_PRODUCER_ID, 13)
    idempotence.raise_epoch_if_needed()
    assert stamps(second) == [(7, 1, 0)]


def test_the_last_epoch_is_followed_by_a_new_id(idempotence: Idempotence) -> None:
    idempotence.take_id(7, 32767)
    first, second = batch_of(1), batch_of(1)
    sent(idempotence, first, second)
    idempotence.failed(first, ErrorCode.INVALID_RECORD, may_have_been_taken=False)
    idempotence.raise_epoch_if_needed()
    assert idempotence.needs_id
    idempotence.take_id(8, 0)
    idempotence.raise_epoch_if_needed()
    assert stamps(second) == [(8, 1, 0)]


def test_sequences_wrap_to_zero(idempotence: Idempotence) -> None:
    near_end, last, wrapped = batch_of(1), batch_of(2), batch_of(1)
    sent(idempotence, near_end)
    near_end.stamp(7, 0, 2**31 - 3)
    idempotence.succeeded(near_end, 0)
    entry = idempotence._entry(P0)
    entry.next_sequence, entry.last_acked_sequence = 2**31 - 2, 2**31 - 3
    sent(idempotence, last, wrapped)
    assert [each.base_sequence for each in (last, wrapped)] == [2**31 - 2, 0]
    idempotence.succeeded(last, 1)
    idempotence.succeeded(wrapped, 3)
    assert entry.last_acked_sequence == 0


def test_the_parts_of_a_split_batch_share_its_sequences(idempotence: Idempotence) -> None:
    from kafka_zk.record.compression import Codec

    first, second = batch_of(4), batch_of(1)
    sent(idempotence, first, second)
    first.close(Codec.NONE, None)
    parts = first.split(61 + 2 * 9, Codec.NONE, None)
    idempotence.replaced(first, parts)
    assert [(part.base_sequence, part.record_count) for part in parts] == [(0, 2), (2, 2)]
    assert idempotence.may_drain(parts[0])
    assert not idempotence.may_drain(parts[1])
    assert not idempotence.may_drain(second)


def split_in_two(idempotence: Idempotence, batch: ProducerBatch) -> list[ProducerBatch]:
    from kafka_zk.record.compression import Codec

    batch.close(Codec.NONE, None)
    parts = batch.split(61 + 2 * 9, Codec.NONE, None)
    idempotence.replaced(batch, parts)
    return parts


def test_after_a_part_that_was_given_up_unsent_nothing_goes_out_with_a_gap(idempotence: Idempotence) -> None:
    whole, later = batch_of(4), batch_of(1)
    sent(idempotence, whole)
    first, second = split_in_two(idempotence, whole)
    idempotence.failed(second, None, may_have_been_taken=False)
    # The first part's fate is told under the epoch in which it was sent.
    idempotence.raise_epoch_if_needed()
    assert stamps(first) == [(7, 0, 0)]
    assert not idempotence.may_drain(later)
    idempotence.succeeded(first, 0)
    idempotence.raise_epoch_if_needed()
    sent(idempotence, later)
    assert stamps(later) == [(7, 1, 0)]


def test_what_was_sent_behind_an_unsent_part_begins_anew_when_those_before_are_settled(
    idempotence: Idempotence,
) -> None:
    whole, behind = batch_of(4), batch_of(1)
    sent(idempotence, whole, behind)
    first, second = split_in_two(idempotence, whole)
    idempotence.failed(second, None, may_have_been_taken=False)
    idempotence.raise_epoch_if_needed()
    assert stamps(first, behind) == [(7, 0, 0), (7, 0, 4)]
    idempotence.succeeded(first, 0)
    idempotence.raise_epoch_if_needed()
    assert stamps(behind) == [(7, 1, 0)]


def test_a_second_batch_waits_until_the_broker_has_taken_the_first(idempotence: Idempotence) -> None:
    first, second = batch_of(4), batch_of(1)
    assert not idempotence.awaits_first_answer(first)
    sent(idempotence, first)
    assert idempotence.awaits_first_answer(second)
    idempotence.succeeded(first, 0)
    sent(idempotence, second)
    assert not idempotence.awaits_first_answer(batch_of(1))
