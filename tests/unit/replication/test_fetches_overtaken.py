"""A follower's fetch that is still being read while its partition becomes another's, or another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gevent
import pytest

from kafka_zk.log.files import names
from kafka_zk.log.files.offset_index import ENTRY
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.record.walking import assign_offsets
from kafka_zk.replication.serving import fetch
from kafka_zk.replication.serving.fetch import PARTITIONS_PER_LOOK
from kafka_zk.replication.serving.records_view import FetchParams, PartitionFetch, ReadUpTo
from tests.unit.log.test_mending import Gate, gate

from .broker import Broker, answered, fetch_request, offsets_in, records, topic_id
from .moving import PATIENCE_S, log_of
from .test_leadership import stop

__all__ = ["gate"]

SMALL_SEGMENTS = {"segment.bytes": "1600", "index.interval.bytes": "100"}
COUNT = 30


def lead_again(broker: Broker) -> None:
    """It lost the leadership and has it back: the follower may have cut its log meanwhile."""
    broker.order(replicas=(1, 2), leader=2, epoch=1, partition_epoch=1)
    broker.order(replicas=(1, 2), leader=1, epoch=2, partition_epoch=2)


def make_anew(broker: Broker) -> None:
    stop(broker, epoch=-2, delete=True)
    broker.order(replicas=(1, 2), id_of_topic=topic_id("another"))


@pytest.mark.parametrize("meanwhile", [lead_again, make_anew])
def test_a_fetch_of_what_is_over_when_its_other_partitions_are_read_is_no_progress(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[Broker], None]
) -> None:
    broker.lead(replicas=(1, 2))
    broker.produce(3)
    wanted = [PartitionFetch("t", topic_id("t"), 0, 3, 1 << 20, 0, 0)]
    wanted += [PartitionFetch("other", topic_id("other"), index, 0, 1 << 20) for index in range(PARTITIONS_PER_LOOK)]
    monkeypatch.setattr(fetch, "give_way", lambda: meanwhile(broker))
    reads = broker.manager.fetch(FetchParams(2, 0, 1, 1 << 20, ReadUpTo.LOG_END, leader_only=True), wanted)
    assert isinstance(reads, list) and reads[0].error is None
    partition = broker.partition()
    assert partition.is_leader
    assert partition.followers[2].log_end_offset == -1


def with_wrong_index(path: Path) -> Broker:
    """A broker whose log has two segments, and somebody wrote over the offset index of the second."""
    broker = Broker(path, overrides=SMALL_SEGMENTS)
    broker.lead()
    for _ in range(COUNT):
        broker.produce()
    log = log_of(broker)
    assert len(log.segments) == 2
    base_offset, directory = log.active.base_offset, log.directory
    broker.close()
    index = directory / names.offset_file_name(base_offset, names.OFFSET_INDEX)
    index.write_bytes(ENTRY.pack(5, 7))  # No batch begins there.
    return Broker(path, overrides=SMALL_SEGMENTS)


def follow_another_history(broker: Broker) -> None:
    """Another leads, who had nothing, and has more since."""
    broker.order(replicas=(1, 2, 3), leader=3, epoch=2, partition_epoch=2)
    log = log_of(broker)
    log.truncate_to(0)
    for offset in range(2 * COUNT):
        batch = records()
        assign_offsets(batch, offset, 2)
        broker.partition().append_as_follower(batch, 2)


def test_a_follower_gets_no_records_of_an_epoch_that_began_while_an_index_was_mended(
    tmp_path: Path, gate: Gate
) -> None:
    broker = with_wrong_index(tmp_path / "1")
    broker.lead(replicas=(1, 2, 3), epoch=1, partition_epoch=1)
    request = fetch_request(COUNT - 2, replica=2, leader_epoch=1, last_epoch=0)
    reading = gevent.spawn(broker.call, request, 12)
    gate.wait_until_reached()
    follow_another_history(broker)
    gate.may_go_on.set()
    data = answered(reading.get(timeout=PATIENCE_S))
    assert (data.error_code, offsets_in(data)) == (ErrorCode.FENCED_LEADER_EPOCH, [])
    broker.close()
