"""A source, a target and a checkpoint for copies, without Spark and without a broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from kafka_zk.client.admin.transaction_results import TransactionDescription, TransactionState
from kafka_zk.client.config import ClientConfig
from kafka_zk.client.errors import DisconnectException, TimeoutException
from kafka_zk.client.producer.settings import producer_settings
from kafka_zk.client.range_reading.errors import OffsetsLost
from kafka_zk.client.range_writing.arrivals import Arrivals, ProducerIdentity, arrivals
from kafka_zk.client.range_writing.sequenced_writer import BYTES, SequencedWriter
from kafka_zk.client.range_writing.shared_transaction import has_begun_later
from kafka_zk.clock import SystemClock
from kafka_zk.config.tables.producer import PRODUCER_KEYS
from kafka_zk.protocol.errors import ErrorCode, ProducerFenced
from kafka_zk.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import Record, build_batch, decode_records
from kafka_zk.record.batch import BatchHeader, batches
from kafka_zk.spark.jobs import ordered_copy

SOURCE, TARGET = TopicPartition("t", 0), TopicPartition("u", 0)
TRANSACTIONAL = range(900, 1100)
"""Producer ids of transactions."""
LAST_EPOCH = 2**15 - 2
"""A producer who has it gets another id next."""


class Killed(BaseException):
    """The driver or a worker ends here."""


class State(dict[str, str]):
    """Stands where FileStore stands: a file is there whole or not at all."""

    on_write: Callable[[], None] = staticmethod(lambda: None)
    on_list: Callable[[], None] = staticmethod(lambda: None)
    folder: Path | None = None

    def read(self, name: str) -> str | None:
        return self.get(name)

    def write(self, name: str, text: str) -> None:
        self.on_write()
        assert name not in self, "a note was written over"
        self[name] = text
        self.on_write()

    def write_new(self, name: str, text: str) -> bool:
        self.on_write()
        if name in self:
            return False
        self.write(name, text)
        return True

    def reads_from(self, _: object) -> bool:
        return False

    def names(self) -> list[str]:
        self.on_list()
        return sorted(self)

    def texts(self) -> dict[str, str]:
        return dict(self)


class _Wire:
    """Stands where the client's sockets and metadata stand: nothing is waited for."""

    def poll(self, _: float) -> None:
        pass

    def request_update(self) -> None:
        pass

    def raise_if_refused(self) -> None:
        pass


class Target(SequencedWriter):
    """The real writer of one partition, with the leader, which checks sequences, in the place of the network."""

    batch_bytes = 200  # type: ignore[assignment]
    topic_id = "1"
    largest_batch = 2**31
    """How many records the leader takes in one batch."""

    def __init__(self) -> None:
        config = ClientConfig(PRODUCER_KEYS, {"key.serializer": BYTES, "value.serializer": BYTES})
        self._settings = producer_settings(config)
        self._clock = SystemClock()
        self._client = self._metadata = _Wire()  # type: ignore[assignment]
        self._transactional_id = None
        self.transaction: Transaction | None = None
        self.aborted: set[int] = set()
        """Base offsets of batches whose transaction was aborted."""
        self.log: list[tuple[BatchHeader, list[bytes | None]]] = []
        self.start = 0
        self.end = 0
        self.sequences: dict[int, tuple[int, int]] = {}
        """The epoch and the sequence that follows, by producer id."""
        self.behinds: list[tuple[int, int]] = []
        """Of each append: behind which offset it would be looked for, and where the log ended."""
        self.identities = 0
        self.before_identity: Callable[[], None] = lambda: None
        self.before_append: Callable[[], None] = lambda: None
        self.after_append: Callable[[], None] = lambda: None
        """May raise DisconnectException: the connection breaks before the answer is read."""
        self.under_way: bytes | None = None
        """The batch that was sent and not answered, of a run that was killed meanwhile."""

    def __call__(self, properties: object, *, transactional_id: str | None = None) -> Target:
        self._transactional_id = transactional_id
        return self

    def __enter__(self) -> Target:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def values(self) -> list[bytes | None]:
        return [value for _, values in self.log for value in values]

    def add(self, values: Sequence[bytes | None], identity: ProducerIdentity | None = None, sequence: int = -1) -> int:
        records = [Record(index, -1, None, value) for index, value in enumerate(values)]
        placed = [record._replace(offset=self.end + record.offset) for record in records]
        is_transactional = identity is not None and identity.producer_id in TRANSACTIONAL
        producer_id, epoch = identity or (-1, -1)
        data = build_batch(
            placed,
            base_offset=self.end,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=is_transactional,
        )
        (batch,) = batches(memoryview(data))
        self.log.append((batch.header, list(values)))
        first, self.end = self.end, self.end + len(values)
        return first

    @property
    def places(self) -> dict[int, bytes | None]:
        """Offset -> value, of what is there."""
        return {head.base_offset + n: value for head, values in self.log for n, value in enumerate(values)}

    def clean(self, superseded: set[int]) -> None:
        """All producers have expired, and the cleaner removes the batches that begin at these offsets."""
        self.sequences.clear()
        self.log = [(head, values) for head, values in self.log if head.base_offset not in superseded]

    def make_anew(self) -> None:
        """The topic is deleted, and another one made under its name."""
        self.topic_id += "1"
        self.log.clear()
        self.sequences.clear()
        self.start = self.end = 0

    def new_identity(self) -> ProducerIdentity:
        self.before_identity()
        self.identities += 1
        return ProducerIdentity(self.identities, 0)

    def decided_end(self, partition: TopicPartition) -> int:
        return self.end

    def arrived(self, partition: TopicPartition, start: int, end: int, identity: ProducerIdentity) -> Arrivals:
        if start < self.start:
            raise OffsetsLost(partition, start, end, self.start)
        heads = (head for head, _ in self.log if start <= head.base_offset < end)
        return arrivals(heads, identity, start=start, end=end)

    def committed(self, partition: TopicPartition, start: int, end: int, identity: ProducerIdentity) -> Arrivals:
        if self.transaction is not None and self.transaction.is_open and any(self.transaction._open()):
            raise TimeoutException("a later run's transaction stays open")
        heads = [
            head._replace(producer_id=-1) if head.base_offset in self.aborted else head
            for head, _ in self.log
            if start <= head.base_offset < end
        ]
        return arrivals(heads, identity, start=start, end=end)

    def append(self, *request: Any, behind: int) -> list[tuple[int, int]]:
        self.behinds.append((behind, self.end))
        return super().append(*request, behind=behind)

    def _leader(self, partition: TopicPartition) -> Callable[[], int | None]:
        return lambda: 1

    def _asked(self, node_id: int, request: object, response: object, build: Any) -> tuple[list[Any], list[Exception]]:
        """One Produce request, and what the writer hears of it."""
        (topic,) = build(0).topic_data
        (wanted,) = topic.partition_data
        self.under_way = wanted.records
        try:
            self.before_append()
            code, offset = self.take(wanted.records)
            self.after_append()
        except DisconnectException as error:
            return [], [error]
        self.under_way = None
        found = PartitionProduceResponse(index=wanted.index, error_code=code, base_offset=offset)
        return [ProduceResponse(responses=[TopicProduceResponse(name=topic.name, partition_responses=[found])])], []

    def take(self, data: bytes) -> tuple[ErrorCode, int]:
        """As a leader takes a batch: the error, and the offset of its first record."""
        (batch,) = batches(memoryview(data))
        head = batch.header
        values = [record.value for record in decode_records(batch)]
        if len(values) > self.largest_batch:
            return ErrorCode.MESSAGE_TOO_LARGE, -1
        identity = ProducerIdentity(head.producer_id, head.producer_epoch)
        assert head.is_transactional == (identity.producer_id in TRANSACTIONAL)
        if identity.producer_id in self.sequences:
            epoch, following = self.sequences[identity.producer_id]
            if identity.epoch < epoch:
                return ErrorCode.INVALID_PRODUCER_EPOCH, -1
            for there, _ in self.log:
                if _sequences(there) == _sequences(head):
                    return ErrorCode.NONE, there.base_offset
            if head.base_sequence != (following if identity.epoch == epoch else 0):
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
        # Of a producer that it knows nothing of a leader takes any sequence.
        self.sequences[identity.producer_id] = (identity.epoch, head.last_sequence + 1)
        return ErrorCode.NONE, self.add(values, identity, head.base_sequence)


class Transaction:
    """The coordinator of a checkpoint's transactional.id. `Member` stands where SharedTransaction stands.

    Its producer id has `epochs_left`; who begins when there is none gets another one, which is `id_step` away.
    """

    def __init__(self, target: Target, *, epochs_left: int = LAST_EPOCH + 1, id_step: int = 1) -> None:
        self.target = target
        target.transaction = self
        self.producer_id, self.epoch = 1000, LAST_EPOCH - epochs_left
        self._id_step = id_step
        self.is_open = False
        self.state = TransactionState.EMPTY
        self.before_begin: Callable[[], None] = lambda: None
        self.before_add: Callable[[], None] = lambda: None
        self.before_commit: Callable[[], None] = lambda: None
        self.after_commit: Callable[[], None] = lambda: None

    def begin(self) -> ProducerIdentity:
        """Ends what is open, and fences who had the epoch before."""
        if self.is_open:
            self._end(aborted=True)
        self.state = TransactionState.EMPTY
        if self.epoch < LAST_EPOCH:
            self.epoch += 1
        else:
            self.producer_id, self.epoch = self.producer_id + self._id_step, 0
        return self.current

    @property
    def current(self) -> ProducerIdentity:
        """Whose transaction is not over."""
        return ProducerIdentity(self.producer_id, self.epoch)

    def time_is_over(self) -> None:
        """As the coordinator aborts a transaction by itself."""
        self._end(aborted=True)

    def _end(self, *, aborted: bool) -> None:
        """The marker; an abort raises the epoch, so that the leader takes nothing more of the one before."""
        self.is_open = False
        self.state = TransactionState.COMPLETE_ABORT if aborted else TransactionState.COMPLETE_COMMIT
        if aborted:
            mine = {head.base_offset for head in self._open()}
            self.target.aborted |= mine
            self.epoch += 1
            self.target.sequences[self.producer_id] = (self.epoch, 0)
        marker = build_batch(
            [Record(self.target.end, -1, b"", b"")],
            base_offset=self.target.end,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            transactional=True,
            control=True,
        )
        (batch,) = batches(memoryview(marker))
        self.target.log.append((batch.header, []))
        self.target.end += 1

    def _open(self) -> Iterator[BatchHeader]:
        """Batches behind the last marker."""
        for head, _ in reversed(self.target.log):
            if head.producer_id == self.producer_id:
                if head.is_control:
                    return
                yield head

    @property
    def visible(self) -> list[bytes | None]:
        """What a reader of committed records sees."""
        hidden = self.target.aborted | ({head.base_offset for head in self._open()} if self.is_open else set())
        return [value for head, values in self.target.log if head.base_offset not in hidden for value in values]


class Member:
    """One run's SharedTransaction."""

    transactional_id = "copy"

    def __init__(self, coordinator: Transaction) -> None:
        self._coordinator = coordinator
        self._identity: ProducerIdentity | None = None
        self._was_open = False

    def begin(self) -> ProducerIdentity:
        self._coordinator.before_begin()
        self._identity = self._coordinator.begin()
        return self._identity

    def add(self, partitions: list[TopicPartition]) -> None:
        self._coordinator.before_add()
        self._check()
        assert partitions == [TARGET]
        self._coordinator.is_open = True
        self._coordinator.state = TransactionState.ONGOING
        self._was_open = True

    def commit(self) -> None:
        self._coordinator.before_commit()
        self._check()
        assert self._coordinator.is_open
        self._coordinator._end(aborted=False)
        self._coordinator.after_commit()

    def is_ended_by_others(self) -> bool:
        return self._identity not in (None, self._coordinator.current)

    def is_taken_over(self) -> bool:
        producer_id, epoch = self._coordinator.current
        found = TransactionDescription(0, self._coordinator.state, producer_id, epoch, 0, None, ())
        return self._identity is not None and has_begun_later(found, self._identity, was_open=self._was_open)

    def _check(self) -> None:
        if self.is_ended_by_others():
            raise ProducerFenced


def _sequences(head: BatchHeader) -> tuple[int, int, int, int]:
    """What a leader tells a repeated batch by."""
    return head.producer_id, head.producer_epoch, head.base_sequence, head.last_sequence


class Frame:
    """Stands where a DataFrame of the source's records stands: what is done with it is done at once, in one task."""

    def __init__(self, offsets: Sequence[int], batch_rows: int = 4, tries: int = 1) -> None:
        self.offsets = sorted(offsets)
        self.batch_rows = batch_rows
        self.tries = tries

    def select(self, *_: str) -> Frame:
        return self

    repartition = sortWithinPartitions = select

    def mapInArrow(self, function: Any, _: str) -> Any:
        frame = self

        class Rows:
            def collect(self) -> list[tuple[Any, ...]]:
                for left in reversed(range(frame.tries)):
                    try:
                        found = [row for batch in function(frame.batches()) for row in batch.to_pylist()]
                        return [tuple(row.values()) for row in found]
                    except Killed:
                        if not left:
                            raise
                raise AssertionError("the last try returns or raises")

        return Rows()

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        for start in range(0, len(self.offsets), self.batch_rows):
            rows = [
                {"topic": "t", "partition": 0, "offset": at, "key": None, "value": b"%d" % at, "headers": None}
                for at in self.offsets[start : start + self.batch_rows]
            ]
            batch = pyarrow.RecordBatch.from_pylist(rows)
            times = pyarrow.array([-1000] * len(rows), pyarrow.timestamp("us", "UTC"))
            yield batch.append_column("timestamp", times)


def copied(
    state: State, frame: Frame, to: str = "u", transaction: Transaction | None = None
) -> list[tuple[str, int, int, int, int]]:
    given: Any = frame
    store: Any = state
    one: Any = None if transaction is None else Member(transaction)
    return ordered_copy.copy_batch(
        given, state=store, name="b", target={}, rename={"t": to}, partitions=[SOURCE], transaction=one
    )


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Target:
    made = Target()
    stand_in(monkeypatch, made)
    return made


def stand_in(monkeypatch: pytest.MonkeyPatch, target: Target) -> None:
    monkeypatch.setattr(ordered_copy, "SequencedWriter", target)
    monkeypatch.setattr(ordered_copy, "topic_ids", lambda _, names: dict.fromkeys(names, target.topic_id))
