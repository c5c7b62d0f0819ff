"""Old fetchers get converted records; what is large is converted off the loop, and nothing of it stays behind."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import gevent
import pytest

from kafka_zk.api.data.old_fetchers import INLINE_BYTES
from kafka_zk.log.down_converter import LEAST_BYTES, UNSENT_BYTES
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.record import Codec
from kafka_zk.record.conversion import convert_down

from .broker import Broker, answered, produce_request, records

V2 = {"version": 2, "partition_max_bytes": 1 << 26, "max_bytes": 1 << 26}
LARGE_COUNT = 3_000
"""Of records of 22 bytes, in one batch: far more than what is converted on the loop."""


@pytest.fixture(autouse=True)
def nothing_stays_open(broker: Broker) -> Iterator[None]:
    broker.lead()
    yield
    assert broker.log_manager.down_converter.unsent_bytes == 0
    for segment in broker.partition().log.segments:  # type: ignore[union-attr]
        assert "holders=0" in repr(segment.file)
    assert memory_files() == 0


def memory_files() -> int:
    found = 0
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            found += "memfd:down-conversion" in os.readlink(f"/proc/self/fd/{descriptor}")
        except FileNotFoundError:
            continue
    return found


def answer_to(response: Any) -> Any:
    if isinstance(response, Pending):
        response = response.result(20_000)
    return answered(response)


def bytes_of(data: Any) -> bytes:
    """What is sent; as when it was sent, the slices are given back."""
    if isinstance(data.records, bytes):
        return data.records
    raw = b"".join(piece.read() for piece in data.records)
    for piece in data.records:
        piece.release()
    return raw


def stored_in(broker: Broker) -> bytes:
    return b"".join(segment.file.path.read_bytes() for segment in broker.partition().log.segments)  # type: ignore[union-attr]


def test_little_is_converted_at_once_without_a_process(broker: Broker) -> None:
    broker.produce(3)
    response = broker.fetch(1, **V2)
    assert not isinstance(response, Pending)
    assert bytes_of(answered(response)) == convert_down(stored_in(broker), magic=1, first_offset=1)
    assert broker.log_manager.down_converter._helper.pid is None


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.SNAPPY])
def test_much_is_converted_elsewhere_to_the_same_bytes(broker: Broker, version: int, codec: Codec) -> None:
    chance = random.Random(7)
    for _ in range(40):
        broker.produce(chance.choice([1, 5, LARGE_COUNT]), codec=codec)
    response = broker.fetch(2, **{**V2, "version": version})
    assert isinstance(response, Pending)
    assert bytes_of(answer_to(response)) == convert_down(
        stored_in(broker), magic=0 if version < 2 else 1, first_offset=2
    )
    assert broker.log_manager.down_converter._helper.pid is not None


def test_compressed_records_are_never_unpacked_on_the_loop(broker: Broker) -> None:
    broker.produce(LARGE_COUNT, codec=Codec.GZIP)
    assert len(stored_in(broker)) < INLINE_BYTES
    response = broker.fetch(0, **V2)
    assert isinstance(response, Pending) and not response.is_done
    assert bytes_of(answer_to(response)) == convert_down(stored_in(broker), magic=1)


def test_a_batch_larger_than_a_read_of_the_helper_is_converted(broker: Broker) -> None:
    broker.produce(20_000)
    assert bytes_of(answer_to(broker.fetch(0, **V2))) == convert_down(stored_in(broker), magic=1)


def test_who_ends_the_wait_of_an_old_fetcher_converts_nothing(broker: Broker) -> None:
    response = broker.fetch(0, max_wait_ms=500, **V2)
    assert isinstance(response, Pending)
    broker.produce(1)
    assert not response.is_done  # the producer has its answer, the fetcher's greenlet has not run yet
    assert bytes_of(answer_to(response)) == convert_down(stored_in(broker), magic=1)


def test_an_old_fetcher_whose_wait_ends_without_records_is_answered_at_once(broker: Broker) -> None:
    response = broker.fetch(0, max_wait_ms=500, **V2)
    broker.clock.advance(500)
    assert bytes_of(answered(response)) == b""


def test_converted_records_are_counted(broker: Broker) -> None:
    for version, count in ((2, LARGE_COUNT), (2, 3), (10, 5), (3, 0)):
        if count:
            broker.produce(count)
        start = broker.partition().log.log_end_offset - count  # type: ignore[union-attr]
        bytes_of(answer_to(broker.fetch(start, **{**V2, "version": version})))
    broker.metrics.fold()
    for tags in ({}, {"topic": "t"}):
        meter: Any = broker.metrics.find(
            "kafka.server:type=BrokerTopicMetrics,name=FetchMessageConversionsPerSec", **tags
        )
        assert meter.count == LARGE_COUNT + 3


def test_a_log_that_is_truncated_meanwhile_answers_as_one_that_is_led_elsewhere(broker: Broker) -> None:
    broker.produce(LARGE_COUNT)
    response = broker.fetch(0, **V2)
    gevent.sleep(0)  # the conversion has begun, the helper process starts
    broker.partition().log.truncate_to(0)  # type: ignore[union-attr]
    assert answer_to(response).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_log_that_is_deleted_meanwhile_is_converted_all_the_same(broker: Broker) -> None:
    broker.produce(LARGE_COUNT)
    stored = stored_in(broker)
    response = broker.fetch(0, **V2)
    for segment in broker.partition().log.segments:  # type: ignore[union-attr]
        segment.file.path.unlink()
    assert bytes_of(answer_to(response)) == convert_down(stored, magic=1)


def test_a_killed_process_is_replaced_and_the_answer_comes(broker: Broker) -> None:
    broker.produce(LARGE_COUNT)
    converter = broker.log_manager.down_converter
    bytes_of(answer_to(broker.fetch(0, **V2)))
    response = broker.fetch(0, **V2)
    gevent.sleep(0)
    assert converter._helper.pid is not None
    os.kill(converter._helper.pid, 9)
    assert bytes_of(answer_to(response)) == convert_down(stored_in(broker), magic=1)


def test_a_stopping_broker_gives_back_what_waits_for_conversion(broker: Broker) -> None:
    broker.produce(LARGE_COUNT)
    waiting = [broker.fetch(0, **V2) for _ in range(3)]
    gevent.sleep(0)
    broker.log_manager.down_converter.stop()
    for response in waiting:
        assert answer_to(response).error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_many_clients_that_do_not_read_get_ever_less_and_each_a_batch(broker: Broker) -> None:
    batch = records(LARGE_COUNT, size_bytes=300)
    for _ in range(50):
        broker.call(produce_request(memoryview(bytearray(batch))), 9)
    unread = [answer_to(broker.fetch(0, **V2)) for _ in range(12)]
    sizes = [sum(piece.size_bytes for piece in data.records) for data in unread]
    # A lone client gets what it asks for.
    assert sizes[0] == len(stored_in(broker))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == len(convert_down(bytes(batch), magic=1))
    assert sizes[-1] > LEAST_BYTES
    assert sum(sizes) < UNSENT_BYTES + len(unread) * sizes[-1]
    for data in unread:
        bytes_of(data)


def test_the_cost_of_conversions_is_shown_with_zeros_for_requests_that_converted_nothing(broker: Broker) -> None:
    """Nobody counts requests here but this test: it plays the part of the connections."""
    requests = broker.metrics.histogram("kafka.network:type=RequestMetrics,name=RequestBytes", request="Fetch")
    broker.produce(LARGE_COUNT)
    for version in (2, 12):
        bytes_of(answer_to(broker.fetch(0, **{**V2, "version": version})))
        requests.update(100)
        broker.metrics.fold()
    broker.metrics.fold()
    costs = {
        name: broker.metrics.histogram(f"kafka.network:type=RequestMetrics,name={name}", request="Fetch").attributes()
        for name in ("MessageConversionsTimeMs", "TemporaryMemoryBytes")
    }
    assert [each["Count"] for each in costs.values()] == [2, 2]
    assert costs["TemporaryMemoryBytes"]["Min"] == 0
    assert costs["TemporaryMemoryBytes"]["Max"] > 2 * len(stored_in(broker))  # type: ignore[operator]
