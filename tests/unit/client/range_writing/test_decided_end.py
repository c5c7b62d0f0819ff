"""Where a log ends for one who must know what of an earlier writer's is in it: what is not replicated is waited for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kafka_zk.client.errors import TimeoutException
from kafka_zk.client.range_writing.sequenced_writer import SequencedWriter
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafka_zk.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_zk.protocol.types import TopicPartition
from tests.unit.client.scripted_broker import API_VERSIONS_KEY, ScriptedBroker

LIST_OFFSETS, METADATA = 2, 3
VERSIONS = {LIST_OFFSETS: (1, 9), METADATA: (0, 12), API_VERSIONS_KEY: (0, 4)}
DEBUGGING = -2
AT_ONCE = {"delivery.timeout.ms": "1", "request.timeout.ms": "1", "linger.ms": "0"}


def asked(log_ends: Sequence[int], committed: Sequence[int], *, unknown: int = 0, **more: str) -> tuple[int, list[int]]:
    """What comes of a leader that answers so, one after the other and then the last again; the replica ids it saw.

    The first `unknown` answers about the topic say that there is none, as of a broker that has just started.
    """
    ends, marks = list(log_ends), list(committed)
    seen: list[int] = []
    unknown_left = [None] * unknown

    def list_offsets(request: Any, _: int) -> ListOffsetsResponse:
        seen.append(request.replica_id)
        numbers = ends if request.replica_id == DEBUGGING else marks
        offset = numbers.pop(0) if len(numbers) > 1 else numbers[0]
        found = ListOffsetsPartitionResponse(partition_index=0, offset=offset, leader_epoch=0)
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=[found])])

    def metadata(*_: object) -> MetadataResponse:
        node = MetadataResponseBroker(node_id=1, host=broker.host, port=broker.port)
        topic = MetadataResponseTopic(name="t", partitions=[MetadataResponsePartition(partition_index=0, leader_id=1)])
        if unknown_left:
            unknown_left.pop()
            topic = MetadataResponseTopic(name="t", error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return MetadataResponse(brokers=[node], controller_id=1, topics=[topic])

    with ScriptedBroker({LIST_OFFSETS: list_offsets, METADATA: metadata}, versions=VERSIONS) as broker:
        given = {"bootstrap.servers": broker.bootstrap, "retry.backoff.ms": "1", **more}
        with SequencedWriter(given) as writer:
            return writer.decided_end(TopicPartition("t", 0)), seen


def test_what_is_above_the_high_watermark_is_waited_for() -> None:
    end, seen = asked([6], [3, 4, 6])
    assert end == 6
    assert seen == [DEBUGGING, -1] * 3


def test_others_who_go_on_writing_are_not_waited_for() -> None:
    assert asked([6, 8, 10], [3, 7])[0] == 6


def test_what_is_cut_off_meanwhile_is_decided_too() -> None:
    assert asked([6, 4, 9], [3, 4])[0] == 4


def test_a_broker_that_does_not_know_the_topic_yet_is_asked_again() -> None:
    assert asked([2], [2], unknown=2)[0] == 2


def test_what_stays_undecided_is_named() -> None:
    with pytest.raises(TimeoutException, match="Offsets 3 to 5 of partition t-0 are not replicated"):
        asked([6], [3], **{"delivery.timeout.ms": "3000", "request.timeout.ms": "2000", "linger.ms": "0"})
