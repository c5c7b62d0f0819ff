"""A topic of the unit tests' broker, served to clients in other threads: its handlers run on the loop of the test.

Something may happen to the topic between two fetches: the broker does it before it answers the later one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar
from uuid import UUID

import gevent
import pyarrow
from pyspark.sql.datasource import CaseInsensitiveDict

from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.types import TopicPartition, uuid_to_base64
from kafka_zk.record import Record, build_batch
from kafka_zk.spark.jobs.audit_findings import DigestRow, Row
from kafka_zk.spark.jobs.audit_live import Replica, fetched_replica
from kafka_zk.spark.sources.kafka.reading import KafkaInputPartition, read_piece
from kafka_zk.spark.sources.kafka.settings import batch_settings
from tests.unit.client.scripted_broker import API_VERSIONS_KEY, ScriptedBroker
from tests.unit.replication.broker import Broker, answered, produce_request, topic_id
from tests.unit.spark.copied_topic import Frame

FETCH, LIST_OFFSETS, METADATA = 1, 2, 3
VERSIONS = {FETCH: (4, 16), LIST_OFFSETS: (1, 8), METADATA: (0, 12), API_VERSIONS_KEY: (0, 4)}
NO_LEADER_ANY_MORE = -2
PATIENCE_S = 20

T = TypeVar("T")


class LiveSource:
    """Topic t with one partition; each record is a batch, and each fetch is answered with one."""

    def __init__(self, folder: Path, **configs: str) -> None:
        """`configs`: of the topic, with _ for a dot."""
        overrides = {name.replace("_", "."): value for name, value in configs.items()}
        self.broker = Broker(folder, {}, {"segment.bytes": "300", **overrides})
        self.broker.lead()
        self.topic_id = topic_id("t")
        self._loop = gevent.get_hub().loop
        self._front = ScriptedBroker(dict.fromkeys((FETCH, LIST_OFFSETS, METADATA), self._ask), versions=VERSIONS)
        self._due: dict[int, Callable[[], object]] = {}

    def close(self) -> None:
        self._front.__exit__()
        self.broker.close()

    @property
    def log(self) -> UnifiedLog:
        found = self.broker.partition().log
        assert found is not None
        return found

    def produce(self, count: int, *, key_count: int = 3) -> None:
        """The value of a record is its offset."""
        for _ in range(count):
            offset = self.log.log_end_offset
            record = Record(0, 1_000, b"k%d" % (offset % key_count), b"%d" % offset)
            assert answered(self.broker.call(produce_request(memoryview(build_batch([record]))), 9)).error_code == 0

    def before_fetch_from(self, offset: int, happens: Callable[[], object]) -> None:
        """Once."""
        self._due[offset] = happens

    def delete(self) -> None:
        assert self.broker.stop_replica() == 0
        self.broker.update_metadata({"t": {0: NO_LEADER_ANY_MORE}})

    def make_anew(self, count: int) -> None:
        """Another topic of the name, with so many records."""
        self.delete()
        self.topic_id = UUID(int=9)
        self.broker.update_metadata({"t": {0: 1}}, id_of_topic=self.topic_id)
        assert self.broker.order(id_of_topic=self.topic_id) == 0
        self.produce(count)

    # --- jobs --------------------------------------------------------------------------------------------------------

    def run(self, job: Callable[[], T]) -> T:
        """In a thread, while this one serves it."""
        found: T = gevent.get_hub().threadpool.apply(job)
        return found

    def piece(self, end: int, **options: str) -> Iterator[pyarrow.RecordBatch]:
        """What a task reads that was planned up to `end`."""
        given = {
            "kafka.bootstrap.servers": self._front.bootstrap,
            "subscribe": "t",
            "kafka.max.partition.fetch.bytes": "1",
            "kafkaConsumer.pollTimeoutMs": "500",
            "includeHeaders": "true",
            **options,
        }
        planned = KafkaInputPartition("t", 0, 0, end, uuid_to_base64(self.topic_id))
        return read_piece(batch_settings(CaseInsensitiveDict(given)), planned)

    def offsets(self, end: int, **options: str) -> list[int]:
        """Those that a task reads. Each has the value that was produced there."""
        found: list[int] = []

        def read() -> None:
            for batch in self.piece(end, **options):
                offsets = batch.column("offset").to_pylist()
                assert batch.column("value").to_pylist() == [b"%d" % offset for offset in offsets]
                found.extend(offsets)

        self.run(read)
        return found

    def audited(self) -> tuple[list[Row], list[DigestRow]]:
        """What an audit of the live replicas finds of this one."""
        replica = Replica(TopicPartition("t", 0), self.topic_id, 1, compacted=False, committed=self.log.high_watermark)
        return self.run(lambda: fetched_replica({"bootstrap.servers": self._front.bootstrap}, replica))

    # --- in threads of the front -------------------------------------------------------------------------------------

    def _ask(self, request: Any, version: int) -> Any:
        answers: SimpleQueue[Any] = SimpleQueue()
        self._loop.run_callback_threadsafe(gevent.spawn, lambda: answers.put(self._answer(request, version)))
        return answers.get(timeout=PATIENCE_S)

    def _answer(self, request: Any, version: int) -> Any:
        is_fetch = type(request).__name__ == "FetchRequest"
        if is_fetch:
            request.max_wait_ms = 0
            (wanted,) = request.topics[0].partitions
            self._due.pop(wanted.fetch_offset, lambda: None)()
        answer = self.broker.call(request, version)
        if isinstance(answer, Pending):
            answer = answer.value
        for node in getattr(answer, "brokers", ()):
            node.host, node.port = self._front.host, self._front.port
        for topic in answer.responses if is_fetch else ():
            for data in topic.partitions:
                pieces = data.records or ()
                data.records = b"".join(piece.read() for piece in pieces)
                for piece in pieces:
                    piece.release()
        return answer


class LiveFrame(Frame):
    """The records of a planned piece, read anew each time that they are looked at, as Spark does."""

    def __init__(self, source: LiveSource, end: int) -> None:
        super().__init__(())
        self._source, self._end = source, end

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        return self._source.piece(self._end)
