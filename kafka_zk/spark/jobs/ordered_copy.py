"""One batch of records into the same partitions of other topics, in order, each once.

Role        Plans on the driver; `OrderedWriter` runs in workers, one task a partition or more.
Invariants  Before the first record is sent, a note says which source offsets get which sequences of a producer, and
            where the target ended. Driver and tasks check what arrived before they send, and wait until what
            is not replicated yet is decided. Others may write to the topic. Notes are never overwritten.
            With a transaction, notes are read once all earlier runs are fenced: of what is committed by then, and what
            will ever be, but for this run's own, some note tells.
            Objects sent to workers hold only settings and numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_zk.client.errors import KafkaException
from kafka_zk.client.range_reading.errors import OffsetsLost
from kafka_zk.client.range_writing.arrivals import Arrivals, ProducerIdentity
from kafka_zk.client.range_writing.sequenced_writer import SequencedWriter
from kafka_zk.client.range_writing.shared_transaction import SharedTransaction
from kafka_zk.protocol.errors import BrokerError, InvalidProducerEpoch, ProducerFenced
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.types import Record
from kafka_zk.spark.client_secrets import resolved
from kafka_zk.spark.jobs.cluster import topic_ids
from kafka_zk.spark.jobs.copy_plan import (
    Note,
    NoteName,
    Sending,
    check_topic_ids,
    decode_note,
    first_sending,
    next_sending,
    next_transaction,
    note_names,
    noted_of,
    renamed_partitions,
    spans_of,
)
from kafka_zk.spark.jobs.outcome import AnotherRunError, JobError
from kafka_zk.spark.jobs.source_runs import Runs, each_offset, joined, part, runs_of, size

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

    from kafka_zk.spark.jobs.file_store import FileStore

SPANS = "topic STRING, partition INT, source_offset BIGINT, target_offset BIGINT, record_count BIGINT"
"""The offset translation table; `topic` is the source's name."""
RUNS = "topic STRING, partition INT, source_offset BIGINT, record_count BIGINT"
NO_TIMESTAMP = -1
NOTHING = Arrivals(0, ())
HAS_BEGUN = (
    "another run of this job has begun with the same checkpoint, and goes on in place of this one, which brokers have "
    "fenced; stop the other one if this was to go on"
)

Result = TypeVar("Result")
Row = tuple[str, int, int, int, int]
Look = Callable[[TopicPartition, int, int, ProducerIdentity], Arrivals]
Follow = Callable[[Sending, Arrivals, Runs, int, ProducerIdentity, str], Sending]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a partition's records go: `found` of the note had arrived before offset `looked_to` of the target."""

    topic: str
    sending: Sending
    looked_to: int
    found: Arrivals


def copy_batch(
    records: DataFrame,
    *,
    state: FileStore,
    name: str,
    target: Mapping[str, str],
    rename: Mapping[str, str],
    partitions: list[TopicPartition],
    transaction: SharedTransaction | None = None,
) -> list[Row]:
    """Blocks until done. Returns the rows of the translation table; `name` is the batch's, the same on a repeat.

    With a `transaction`, of an id that no other copy has, readers of committed records see all of the batch at once.
    """
    if state.read(f"{name}.base") is not None:
        raise JobError(
            f"{name} of this checkpoint was begun by an earlier version and cannot be resumed; "
            "use a new topic and a new checkpoint"
        )
    # Before the notes are read: an earlier run that goes on meanwhile could commit what its note, not yet read, tells.
    identity = None if transaction is None else _in_transaction(transaction.begin, transaction)
    number, notes = read_notes(state, name, identity)
    noted = noted_of(notes, rename)
    if notes and noted.transactional != (transaction is not None):
        raise JobError(
            f"{name} of this checkpoint was begun with{'' if noted.transactional else 'out'} a transaction; finish it "
            "as it was begun, and change transactional afterwards"
        )
    ordered = _in_order(records.select("topic", "partition", "offset"), len(partitions))
    wanted = _as_runs(ordered.mapInArrow(_offsets, RUNS).collect())
    places, ids = planned(wanted, noted, target=target, rename=rename, begun_as=identity)
    note = Note({each: place.sending for each, place in places.items()}, ids, transaction is not None)
    if note != noted:
        state.write(str(NoteName(name, number + 1, identity)), note.encode())
    columns = ("topic", "partition", "offset", "key", "value", "headers", "timestamp")
    ordered = _in_order(records.select(*columns), len(partitions))
    unfinished = any(place.found.count < size(place.sending.sent) for place in places.values())
    if transaction is not None and unfinished:
        _in_transaction(lambda: transaction.add(_unsent(places)), transaction)
    sent = _sent(ordered, target, places, transaction) if unfinished else []
    rows = [(row[0], row[1], row[2], row[3], row[4]) for row in sent]
    _check_all_sent(places, rows)
    if sent:
        # Records are sent by name: if another topic has it by now, they are not all in one place.
        check_topic_ids(note.topic_ids, topic_ids(target, {place.topic for place in places.values()}), "the target")
        if transaction is None:
            _check_none_came_late(target, renamed_partitions(places, rename), places)
        else:
            # Nothing comes late: brokers refuse what earlier runs sent since `begin`.
            _in_transaction(transaction.commit, transaction)
    for each, place in places.items():
        known = (*place.sending.spans, *spans_of(place.sending, place.found))
        rows += [(each.topic, each.partition, *span) for span in known]
    return sorted(rows)


def read_notes(state: FileStore, name: str, own: ProducerIdentity | None = None) -> tuple[int, list[Note]]:
    """The notes of a batch, in order, and the highest number; 0 where there is none.

    `own`: of the transaction that has begun. Raises AnotherRunError if a run that has fenced it has noted something.
    """
    names = note_names(state.names(), name, own)
    if own is not None and any(each.is_later_than(own) for each in names):
        raise AnotherRunError(HAS_BEGUN)
    notes = [decode_note(state.read(str(each)) or "") for each in names]
    return max((each.number for each in names), default=0), notes


def planned(
    wanted: Mapping[TopicPartition, Runs],
    noted: Note,
    *,
    target: Mapping[str, str],
    rename: Mapping[str, str],
    begun_as: ProducerIdentity | None = None,
) -> tuple[dict[TopicPartition, Place], dict[str, str]]:
    """Blocks. Returns what to send to each partition, after a check of the target, and the ids of the
    topics checked. `begun_as`: the producer of the transaction, which ended those of earlier runs. Raises JobError."""
    renamed = renamed_partitions(sorted({*wanted, *noted.partitions}), rename)
    topics = {each.topic for each in renamed.values()}
    before = topic_ids(target, topics)
    check_topic_ids(noted.topic_ids, before, "the target")
    places: dict[TopicPartition, Place] = {}
    with SequencedWriter(resolved(target)) as writer:
        try:
            identity = writer.new_identity() if begun_as is None else begun_as
            look, following = (
                (writer.arrived, next_sending) if begun_as is None else (writer.committed, next_transaction)
            )
            for each, to in renamed.items():
                end = writer.decided_end(to)
                runs, sending = wanted.get(each, ()), noted.partitions.get(each)
                places[each] = (
                    Place(to.topic, first_sending(runs, end, identity, to.topic), end, NOTHING)
                    if sending is None
                    else _continued(to, sending, runs, end, identity, look=look, following=following)
                )
        except (BrokerError, KafkaException) as error:
            raise JobError(f"could not check how much of this copy is in the target: {error}") from error
    # Partitions are read by name: results of one topic say nothing about another that now has its name.
    ids = topic_ids(target, topics)
    check_topic_ids(before, ids, "the target")
    return places, before | ids


def _continued(
    to: TopicPartition,
    before: Sending,
    wanted: Runs,
    end: int,
    identity: ProducerIdentity,
    *,
    look: Look,
    following: Follow,
) -> Place:
    """Blocks. Where a noted partition goes on: `look` finds what of the note is there, `following` plans the rest."""
    _check_end(to, before, end)
    found = _known(to, before, _left_of(look, to, before, before.start, end))
    sending = following(before, found, wanted, end, identity, to.topic)
    return Place(to.topic, sending, end, found if sending is before else NOTHING)


def _check_end(to: TopicPartition, before: Sending, end: int) -> None:
    if end < before.start:
        raise JobError(
            f"{to} ends at offset {end}, below {before.start} where this copy began; was the topic created again?"
        )


def arrived(writer: SequencedWriter, to: TopicPartition, sending: Sending, start: int, end: int) -> Arrivals:
    """Blocks. Finds the part of a note between two offsets of the target. Raises JobError if that is unknown."""
    return _known(to, sending, _left_of(writer.arrived, to, sending, start, end))


def _known(to: TopicPartition, sending: Sending, found: Arrivals) -> Arrivals:
    if found.missing is not None and found.count < size(sending.sent):
        first, after = found.missing
        raise JobError(
            f"offsets {first} to {after - 1} of {to}, after the last record of this copy, were deleted, so it is "
            "unknown whether they held more of it; use a new topic and a new checkpoint"
        )
    return found


def _left_of(look: Look, to: TopicPartition, sending: Sending, start: int, end: int) -> Arrivals:
    """Blocks. As `arrived`, as far as batches are left. Raises JobError if retention deleted all evidence."""
    if not sending.sent:
        return Arrivals(0, ())
    try:
        return look(to, start, end, sending.identity)
    except OffsetsLost as lost:
        found = look(to, lost.log_start_offset, end, sending.identity)
        if not found.count:
            raise JobError(
                f"{to} now starts at offset {lost.log_start_offset}, so it is unknown whether records of this copy "
                f"were written from {start} to there; use a new topic and a new checkpoint"
            ) from lost
        return found


class OrderedWriter:
    """Called in a worker with the sorted records of some partitions; yields the spans that it found or sent."""

    def __init__(
        self,
        target: Mapping[str, str],
        places: Mapping[TopicPartition, Place],
        transactional_id: str | None = None,
    ) -> None:
        """`transactional_id`: of the transaction that the records belong to, which the driver ends."""
        self._transactional_id = transactional_id
        self._target = dict(target)
        self._places = dict(places)

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        under_way: dict[TopicPartition, _PartitionCopy] = {}
        with SequencedWriter(resolved(self._target), transactional_id=self._transactional_id) as writer:
            for batch in batches:
                for each, rows in _by_partition(batch):
                    if each not in under_way:
                        under_way[each] = _PartitionCopy(writer, each, self._places[each])
                    found = under_way[each].take(rows)
                    if found:
                        yield _table([(*each, *span) for span in found])


class _PartitionCopy:
    """Copies one partition's records. The constructor and `take` block."""

    def __init__(self, writer: SequencedWriter, source: TopicPartition, place: Place) -> None:
        self._writer = writer
        self._source = source
        self._sending = place.sending
        self._to = TopicPartition(place.topic, source.partition)
        # Another attempt of this task may have sent some since the driver's check.
        self._behind = end = writer.decided_end(self._to)
        since = arrived(writer, self._to, place.sending, place.looked_to, end)
        self._sequence = max(place.found.count, since.count)
        self._found = spans_of(place.sending, since)
        self._expected = each_offset(part(place.sending.sent, self._sequence, size(place.sending.sent)))
        self._next = next(self._expected, None)

    def take(self, rows: pyarrow.RecordBatch) -> list[tuple[int, int, int]]:
        """Send the planned records among these. Raises JobError for a planned one that is missing."""
        chosen: list[int] = []
        for index, offset in enumerate(rows.column("offset").to_pylist()):
            if self._next is not None and offset > self._next:
                raise JobError(
                    f"offset {self._next} of {self._source} was deleted or replaced since this batch was planned; "
                    "run the same command again to continue"
                )
            if offset == self._next:
                chosen.append(index)
                self._next = next(self._expected, None)
        found: list[tuple[int, int, int]] = [tuple(span) for span in self._found]  # type: ignore[misc]
        self._found = []
        for group in _in_groups(_records(rows.take(chosen)), self._writer.batch_bytes) if chosen else ():
            runs = self._writer.append(self._to, self._sending.identity, self._sequence, group, behind=self._behind)
            for offset, count in runs:
                self._behind = offset + count
                sources = part(self._sending.sent, self._sequence, count)
                self._sequence += count
                for source, length in sources:
                    found.append((source, offset, length))
                    offset += length
        return found


def _sent(
    ordered: DataFrame,
    target: Mapping[str, str],
    places: Mapping[TopicPartition, Place],
    transaction: SharedTransaction | None,
) -> list[Any]:
    """Blocks. Send what the places say; the spans, as rows. Raises AnotherRunError, or what a task failed with."""
    writer = OrderedWriter(target, places, None if transaction is None else transaction.transactional_id)
    try:
        return ordered.mapInArrow(writer, SPANS).collect()
    except Exception as error:
        # Brokers tell a fenced task only that its epoch is old, in one of several ways.
        if transaction is not None and transaction.is_ended_by_others():
            raise _ended_by_others(transaction) from error
        raise


def _unsent(places: Mapping[TopicPartition, Place]) -> list[TopicPartition]:
    """The target's partitions that get records."""
    return [
        TopicPartition(place.topic, each.partition)
        for each, place in places.items()
        if place.found.count < size(place.sending.sent)
    ]


def _in_transaction(call: Callable[[], Result], transaction: SharedTransaction) -> Result:
    """Raises JobError, AnotherRunError."""
    try:
        return call()
    except (BrokerError, KafkaException) as error:
        # A run that stood still for long hears first that its call took too long.
        if isinstance(error, ProducerFenced | InvalidProducerEpoch) or transaction.is_ended_by_others():
            raise _ended_by_others(transaction) from error
        raise JobError(
            f"could not write this batch in a transaction: {error}; run the same command again to continue (a batch "
            "must be done within transaction.timeout.ms: max-offsets-per-trigger makes it smaller)"
        ) from error


def _ended_by_others(transaction: SharedTransaction) -> JobError:
    """What to say of a transaction that this run has not ended."""
    if transaction.is_taken_over():
        return AnotherRunError(HAS_BEGUN)
    return JobError(
        "this batch was not written within transaction.timeout.ms, so brokers have aborted its transaction; make "
        "batches smaller with max-offsets-per-trigger, or raise it in [target], and run the same command again"
    )


def _check_all_sent(places: Mapping[TopicPartition, Place], rows: list[Row]) -> None:
    """Raise JobError where a task did not see records that were planned."""
    counts: dict[TopicPartition, int] = {}
    for topic, index, _, _, count in rows:
        each = TopicPartition(topic, index)
        counts[each] = counts.get(each, 0) + count
    for each, place in places.items():
        there, planned_count = counts.get(each, 0) + place.found.count, size(place.sending.sent)
        if there != planned_count:
            raise JobError(
                f"copied {there} of {planned_count} planned records of {each}, since the source changed "
                "meanwhile; run the same command again to continue"
            )


def _check_none_came_late(
    target: Mapping[str, str], renamed: Mapping[TopicPartition, TopicPartition], places: Mapping[TopicPartition, Place]
) -> None:
    """Blocks. Raise JobError if records of a replaced note arrived after the start of its replacement."""
    with SequencedWriter(resolved(target)) as writer:
        for each, place in places.items():
            if place.sending.identity.epoch:
                end = writer.decided_end(renamed[each])
                try:
                    _left_of(writer.arrived, renamed[each], place.sending, place.sending.start, end)
                except KafkaException as error:
                    raise JobError(f"{renamed[each]}: {error}") from error


def _in_order(records: DataFrame, tasks: int) -> DataFrame:
    placed = records.repartition(max(1, tasks), "topic", "partition")
    return placed.sortWithinPartitions("topic", "partition", "offset")


def _offsets(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """In a worker: sorted records as runs of offsets."""
    import pyarrow

    for batch in batches:
        for each, rows in _by_partition(batch):
            found = runs_of(rows.column("offset").to_pylist())
            columns = list(zip(*found, strict=True))
            yield pyarrow.RecordBatch.from_arrays(
                [
                    pyarrow.array([each.topic] * len(found), pyarrow.string()),
                    pyarrow.array([each.partition] * len(found), pyarrow.int32()),
                    *(pyarrow.array(column, pyarrow.int64()) for column in columns),
                ],
                ["topic", "partition", "source_offset", "record_count"],
            )


def _as_runs(rows: list[Any]) -> dict[TopicPartition, Runs]:
    found: dict[TopicPartition, list[tuple[int, int]]] = {}
    for row in rows:
        found.setdefault(TopicPartition(row[0], row[1]), []).append((row[2], row[3]))
    return {each: joined((), tuple(runs)) for each, runs in found.items()}


def _table(rows: list[Row]) -> pyarrow.RecordBatch:
    import pyarrow

    topics, partitions, *numbers = zip(*rows, strict=True)
    return pyarrow.RecordBatch.from_arrays(
        [
            pyarrow.array(topics, pyarrow.string()),
            pyarrow.array(partitions, pyarrow.int32()),
            *(pyarrow.array(column, pyarrow.int64()) for column in numbers),
        ],
        ["topic", "partition", "source_offset", "target_offset", "record_count"],
    )


def _by_partition(batch: pyarrow.RecordBatch) -> Iterator[tuple[TopicPartition, pyarrow.RecordBatch]]:
    """Runs of one partition; the batch is sorted."""
    topics, indexes = batch.column("topic").to_pylist(), batch.column("partition").to_pylist()
    start = 0
    for row in range(1, batch.num_rows + 1):
        if row == batch.num_rows or (topics[row], indexes[row]) != (topics[start], indexes[start]):
            yield TopicPartition(topics[start], indexes[start]), batch.slice(start, row - start)
            start = row


def _records(rows: pyarrow.RecordBatch) -> list[Record]:
    """Timestamps as they are: none at all is -1 here as it is in the source's column, others before 1970 stay."""
    import pyarrow

    times = rows.column("timestamp").cast(pyarrow.timestamp("ms", "UTC"), safe=False).cast(pyarrow.int64()).to_pylist()
    columns = (rows.column(name).to_pylist() for name in ("key", "value", "headers"))
    return [
        Record(
            0,
            NO_TIMESTAMP if time_ms is None else time_ms,
            key,
            value,
            tuple((header["key"], header["value"]) for header in headers or ()),
        )
        for time_ms, key, value, headers in zip(times, *columns, strict=True)
    ]


def _in_groups(records: list[Record], limit_bytes: int) -> Iterator[list[Record]]:
    """In order, each group of so many bytes of keys, values and headers at most, or of one record."""
    group: list[Record] = []
    held = 0
    for record in records:
        own = 32 + len(record.key or b"") + len(record.value or b"")
        own += sum(8 + 4 * len(name) + len(value or b"") for name, value in record.headers)
        if group and held + own > limit_bytes:
            yield group
            group, held = [], 0
        group.append(record)
        held += own
    if group:
        yield group
