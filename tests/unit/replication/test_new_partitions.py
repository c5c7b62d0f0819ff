"""What a new partition costs the broker that leads it, counted in calls: times are the bench's."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from kafka_zk.config.topic import LogConfig
from kafka_zk.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)

from .broker import Broker, topic_id

pytestmark = pytest.mark.interpreted

COUNT = 50
CALLS_A_PARTITION = 400
"""In the loop's thread, Python's and C's together; it was 685 while each partition made the configs of its topic."""


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
