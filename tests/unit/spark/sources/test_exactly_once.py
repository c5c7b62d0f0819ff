"""Parts of micro-batches: what names them, and how their rows are recognized."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kafka_zk.protocol.errors import ProducerFenced, TopicAuthorizationFailed, TransactionalIdAuthorizationFailed
from kafka_zk.spark.sources.errors import SourceError
from kafka_zk.spark.sources.kafka.exactly_once import BATCH_ID, QUERY_ID, Part, Rows, advice, part_of
from kafka_zk.spark.sources.kafka.write_settings import WriteSettings
from kafka_zk.spark.sources.kafka.writer import KafkaWriter

ROWS = [(b"k", b"v", None, ()), (None, b"v", 1, ()), (b"k", None, None, (("h", b"x"),)), (b"k", b"w", None, ())]


class Task:
    """Stands where Spark's TaskContext stands."""

    def __init__(self, properties: dict[str, str]) -> None:
        self._properties = properties

    def getLocalProperty(self, name: str) -> str | None:
        return self._properties.get(name)

    def partitionId(self) -> int:
        return 3


def counted(*rows: Any) -> str:
    found = Rows()
    for row in rows:
        found.add(*row)
    return str(found)


def test_a_part_is_named_by_its_query_and_its_task_in_every_batch() -> None:
    part = part_of(cast(Any, Task({QUERY_ID: "q", BATCH_ID: "12"})))
    assert part == Part("q", 12, 3)
    assert part.name == Part("q", 13, 3).name == "kafka_zk-sink-q-3"


def test_a_write_inside_of_foreach_batch_is_a_part_too_and_any_other_is_refused() -> None:
    writer = KafkaWriter(WriteSettings({}, "t", ("value",), exactly_once=True))
    with pytest.raises(SourceError, match="needs a streaming query, or foreachBatch"):
        writer.write(iter([]))


@pytest.mark.parametrize("properties", [{}, {QUERY_ID: "q"}, {BATCH_ID: "12"}])
def test_what_is_no_micro_batch_is_refused(properties: dict[str, str]) -> None:
    with pytest.raises(SourceError, match="needs a streaming query"):
        part_of(cast(Any, Task(properties)))


def test_rows_are_the_same_in_any_order_and_others_are_not() -> None:
    assert counted(*ROWS) == counted(*reversed(ROWS))
    each = {counted(*rows) for rows in (ROWS, ROWS[1:], ROWS[:-1], [ROWS[0], *ROWS[:-1]], [], [ROWS[0]], [ROWS[1]])}
    assert len(each) == 7


def test_what_a_part_lacks_is_said_with_its_remedy() -> None:
    assert "READ for the groups named kafka_zk-sink-" in advice(TransactionalIdAuthorizationFailed())
    assert "maxOffsetsPerTrigger" in advice(ProducerFenced())
    assert advice(TopicAuthorizationFailed()) == ""
