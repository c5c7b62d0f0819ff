"""ISR changes on their way to the controller: what an answer may be, and that the next request goes out."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafka_zk.clock import SimClock
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import UnsupportedVersion
from kafka_zk.protocol.messages.alter_partition import (
    AlterPartitionResponse,
    ResponsePartitionData,
    ResponseTopicData,
)
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.leading import isr_changes
from kafka_zk.replication.leading.isr_change import IsrChange
from kafka_zk.replication.leading.isr_changes import RETRY_MS, IsrChanges

TOPIC_ID, NEXT_ID = UUID(int=5), UUID(int=6)


class Asked:
    """The controller, and what becomes of the changes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.requests: list[Pending[Any]] = []
        self.sent: list[Any] = []
        self.taken: list[tuple[int, object]] = []
        self.clock = SimClock()
        self.changes = IsrChanges(broker_id=1, broker_epoch=lambda: 9, controller=self, clock=self.clock)
        monkeypatch.setattr(isr_changes, "take_answer", self._take)
        monkeypatch.setattr(isr_changes, "advance_and_wake", lambda partition: None)
        monkeypatch.setattr(isr_changes, "is_still_proposed", lambda partition, change: True)

    def send(self, request: Any) -> Pending[Any]:
        self.sent.append(request)
        self.requests.append(Pending())
        return self.requests[-1]

    def propose(self, index: int, topic_id: UUID = TOPIC_ID) -> None:
        change = IsrChange(TopicPartition("t", index), topic_id, 4, 6, (1, 2))
        self.changes.submit(None, change)  # type: ignore[arg-type]

    def _take(self, partition: object, change: IsrChange, answer: object) -> None:
        self.taken.append((change.topic_partition.partition, answer))
        if change.topic_partition.partition == 13:
            raise ValueError("a bug")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(monkeypatch)


def answer(*indexes: int, **topic: Any) -> AlterPartitionResponse:
    partitions = [ResponsePartitionData(partition_index=index, isr=[1, 2]) for index in indexes]
    return AlterPartitionResponse(topics=[ResponseTopicData(**topic, partitions=partitions)])


def test_an_answer_of_an_old_controller_names_its_topics(asked: Asked) -> None:
    asked.propose(0)
    asked.requests[0].complete(answer(0, topic_name="t"))
    assert [index for index, _ in asked.taken] == [0]
    assert len(asked.requests) == 1


def test_a_bug_with_one_partition_costs_neither_the_others_nor_the_next_request(asked: Asked) -> None:
    asked.propose(0)
    for index in (13, 2):
        asked.propose(index)
    asked.requests[0].complete(answer(0, topic_id=TOPIC_ID))
    asked.requests[1].complete(answer(13, 2, topic_id=TOPIC_ID))
    assert [index for index, _ in asked.taken] == [0, 13, 2]
    asked.propose(3)
    assert len(asked.requests) == 3


def test_an_answer_that_names_nobody_or_a_code_nobody_knows_is_asked_again_after_a_while(asked: Asked) -> None:
    asked.propose(0)
    for unusable in (AlterPartitionResponse(), AlterPartitionResponse(error_code=999)):
        asked.requests[-1].complete(unusable)
        count = len(asked.requests)
        asked.clock.advance(RETRY_MS)
        assert len(asked.requests) == count + 1
    asked.requests[-1].fail(UnsupportedVersion("AlterPartition"))
    asked.clock.advance(RETRY_MS)
    asked.requests[-1].complete(answer(0, topic_id=TOPIC_ID))
    assert [index for index, _ in asked.taken] == [0]


def test_a_change_for_a_topic_that_was_deleted_is_not_made_to_the_next_one_of_its_name(asked: Asked) -> None:
    asked.propose(7)
    asked.propose(1)
    asked.propose(0, NEXT_ID)
    asked.propose(2, NEXT_ID)
    asked.requests[0].fail(UnsupportedVersion("the controller went"))
    asked.clock.advance(RETRY_MS)
    wanted = {
        (topic.topic_id, partition.partition_index) for topic in asked.sent[1].topics for partition in topic.partitions
    }
    assert wanted == {(TOPIC_ID, 1), (TOPIC_ID, 7), (NEXT_ID, 0), (NEXT_ID, 2)}
    assert len(asked.sent[1].topics) == 2
