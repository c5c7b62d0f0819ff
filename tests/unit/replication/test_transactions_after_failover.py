"""What readers of committed data get after the leader of a partition has changed: what they got before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.protocol.messages.write_txn_markers import WriteTxnMarkersRequest

from .broker import Broker, offsets_in
from .test_following import FOLLOWER, LEADER, Pair, bytes_of, end_of, eventually
from .test_transaction_markers import Groups, committed, marker, write_in_transaction

FIRST, SECOND, OPEN = 5, 6, 7
"""Producers: of a transaction that commits, of one that is aborted, of one that stays open."""


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path, {"transaction.partition.verification.enable": "false"})
    for broker in (made.leader, made.follower):
        broker.services.group_coordinator = Groups()  # type: ignore[assignment]
    yield made
    made.close()


def write(broker: Broker, producer_id: int, count: int, *, sequence: int = 0) -> None:
    write_in_transaction(broker, count, producer_id=producer_id, sequence=sequence)


def end(broker: Broker, producer_id: int, *, is_commit: bool) -> Any:
    """The answer, which comes once the marker is replicated."""
    return broker.call(
        WriteTxnMarkersRequest(markers=[marker(("t", 0), producer_id=producer_id, is_commit=is_commit)]), 1
    )


def seen(broker: Broker) -> tuple[list[int], list[tuple[int, int]], int]:
    """What a reader of committed data is sent: offsets, aborted transactions and the last stable offset."""
    answer = committed(broker)
    aborted = sorted((each.producer_id, each.first_offset) for each in answer.aborted_transactions)
    return offsets_in(answer), aborted, answer.last_stable_offset


def given_transactions(pair: Pair) -> None:
    """Offsets 0-1 and 5 committed, 2-3 aborted, 7-8 open; markers at 4 and 6. Both replicas have everything."""
    pair.order()
    write(pair.leader, FIRST, 2)
    write(pair.leader, SECOND, 2)
    aborted = end(pair.leader, SECOND, is_commit=False)
    write(pair.leader, FIRST, 1, sequence=2)
    ended = end(pair.leader, FIRST, is_commit=True)
    write(pair.leader, OPEN, 2)
    pair.leader.produce(1, timestamp=pair.leader.clock.wall_ms())
    eventually(pair, lambda: aborted.is_done and ended.is_done and pair.followed.high_watermark == 10)


STABLE = ([0, 1, 2, 3, 4, 5, 6], [(SECOND, 2)], 7)


def test_a_new_leader_shows_the_same_and_hides_the_same(pair: Pair) -> None:
    given_transactions(pair)
    assert seen(pair.leader) == STABLE
    pair.order(leader=FOLLOWER, epoch=1, isr=(1, 2))
    eventually(pair, lambda: pair.follower.partition().is_leader and pair.followed.high_watermark == 10)
    assert seen(pair.follower) == STABLE


def test_a_transaction_that_was_open_under_the_old_leader_ends_under_the_new_one(pair: Pair) -> None:
    given_transactions(pair)
    pair.order(leader=FOLLOWER, epoch=1, isr=(1, 2))
    ended = end(pair.follower, OPEN, is_commit=False)
    eventually(pair, lambda: bool(ended.is_done) and pair.led.high_watermark == 11)
    whole = ([*range(11)], [(SECOND, 2), (OPEN, 7)], 11)
    assert seen(pair.follower) == whole
    pair.order(leader=LEADER, epoch=2, isr=(1, 2))
    eventually(pair, lambda: pair.led.is_leader)
    assert seen(pair.leader) == whole


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_marker_that_was_never_replicated_leaves_nothing_behind(pair: Pair, is_commit: bool) -> None:
    """The old leader wrote that the transaction ends one way; the new one decides for the other."""
    given_transactions(pair)
    pair.follower.order(replicas=(1, 2), isr=(2,), leader=FOLLOWER, epoch=1, partition_epoch=1)
    end(pair.leader, OPEN, is_commit=not is_commit)
    assert end_of(pair.led) == 11
    end(pair.follower, OPEN, is_commit=is_commit)
    pair.follower.produce(1, timestamp=pair.follower.clock.wall_ms())
    pair.order(leader=FOLLOWER, epoch=2, isr=(2,))
    eventually(pair, lambda: end_of(pair.led) == 12 and bytes_of(pair.leader) == bytes_of(pair.follower))
    pair.order(leader=FOLLOWER, epoch=3, isr=(1, 2))
    eventually(pair, lambda: pair.led.high_watermark == 12)
    whole = ([*range(12)], [(SECOND, 2)] if is_commit else [(SECOND, 2), (OPEN, 7)], 12)
    assert seen(pair.follower) == whole
    pair.order(leader=LEADER, epoch=4, isr=(1, 2))
    eventually(pair, lambda: pair.led.is_leader)
    assert seen(pair.leader) == whole
