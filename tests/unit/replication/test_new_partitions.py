"""What a new partition costs the broker that leads it, in calls, syncs and jobs of threads: times are the bench's."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from types import FrameType
from typing import Any, TypeVar

import pytest

from kafka_zk.config.topic import LogConfig
from kafka_zk.log.files.disk import MachineDisk
from kafka_zk.log.pools import LogPools
from kafka_zk.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafka_zk.worker_pool import WorkerPool

from .broker import Broker, topic_id

T = TypeVar("T")

pytestmark = pytest.mark.interpreted

COUNT = 50
CALLS_A_PARTITION = 310
"""In the loop's thread, Python's and C's together: 210, more where the machine is busy. It was 685 while each partition
made the configs of its topic, and 275 while its leader epoch was a job of its own."""

SYNCS_A_PARTITION, JOBS_A_PARTITION = 2, 1
"""Of the topic id and of the names in its directory, in one job of a thread. What may be forgotten:
tests/crash/test_new_partitions.py."""


class CountingDisk(MachineDisk):
    def __init__(self) -> None:
        self.sync_count = 0
        self._counting = Lock()

    def fsync(self, descriptor: int) -> None:  # type: ignore[override]
        with self._counting:
            self.sync_count += 1


class CountingPools(LogPools):
    job_count = 0

    def run_to_end(self, pool: WorkerPool, function: Callable[..., T], *arguments: object) -> T:
        self.job_count += 1
        return super().run_to_end(pool, function, *arguments)


def test_a_new_partition_costs_two_syncs_in_one_job_of_a_thread(tmp_path: Path) -> None:
    disk, pools = CountingDisk(), CountingPools()
    broker = Broker(tmp_path, disk=disk, pools=pools)
    broker.update_metadata({"t": dict.fromkeys(range(COUNT), 1)})
    disk.sync_count = pools.job_count = 0
    broker.call(ordered("t"), 7)
    # And once for the names of all of them in the log directory.
    assert disk.sync_count == SYNCS_A_PARTITION * COUNT + 1
    assert pools.job_count == JOBS_A_PARTITION * COUNT + 1
    broker.close()


def test_a_new_partition_costs_no_more_calls_than_it_did(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    config = LogConfig.from_overrides(broker.config, {})
    # As the broker's own TopicConfigs, which make the configs of a topic once.
    broker.log_manager._opener._topic_config = lambda topic: config
    broker.update_metadata({topic: dict.fromkeys(range(COUNT), 1) for topic in ("warm", "t")})
    broker.call(ordered("warm"), 7)
    request = ordered("t")
    calls: Counter[str] = Counter()

    def note(caller: FrameType, event: str, argument: Any) -> None:
        if event in ("call", "c_call"):
            calls[caller.f_code.co_qualname if event == "call" else argument.__qualname__] += 1

    gc.collect()
    gc.disable()
    sys.setprofile(note)
    try:
        broker.call(request, 7)
    finally:
        sys.setprofile(None)
        gc.enable()
    assert len(broker.manager.hosted) == 2 * COUNT
    assert calls.total() / COUNT <= CALLS_A_PARTITION, calls.most_common(30)
    broker.close()


def ordered(topic: str) -> LeaderAndIsrRequest:
    states = [
        LeaderAndIsrPartitionState(
            partition_index=index, controller_epoch=1, leader=1, isr=[1], replicas=[1], is_new=True
        )
        for index in range(COUNT)
    ]
    named = LeaderAndIsrTopicState(topic_name=topic, topic_id=topic_id(topic), partition_states=states)
    return LeaderAndIsrRequest(controller_id=1, controller_epoch=1, broker_epoch=77, topic_states=[named])
