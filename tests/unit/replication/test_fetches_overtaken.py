"""A follower's fetch that is still being read while its partition becomes another's, or another."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_zk.replication.serving import fetch
from kafka_zk.replication.serving.fetch import PARTITIONS_A_LOOK
from kafka_zk.replication.serving.records_view import FetchParams, PartitionFetch, ReadUpTo

from .broker import Broker, topic_id
from .test_leadership import stop


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
    wanted += [PartitionFetch("other", topic_id("other"), index, 0, 1 << 20) for index in range(PARTITIONS_A_LOOK)]
    monkeypatch.setattr(fetch, "give_way", lambda: meanwhile(broker))
    reads = broker.manager.fetch(FetchParams(2, 0, 1, 1 << 20, ReadUpTo.LOG_END, leader_only=True), wanted)
    assert isinstance(reads, list) and reads[0].error is None
    partition = broker.partition()
    assert partition.is_leader
    assert partition.followers[2].log_end_offset == -1
