"""Plans an ordered copy: what is still to be sent, and which offset became which.

Role        Pure.
Rule        What is to be sent is noted before it is sent: a producer id, and the source offsets whose records get its
            sequences 0, 1, 2 ... The target's batches show how far that got. Next, send what the source has
            and no note saw arrive; if that is the rest of the note, its sequences continue, else a new note replaces
            it, with the next epoch of the producer, so that the target takes nothing more of the old one.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_zk.client.range_writing.arrivals import Arrivals, ProducerIdentity
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs.outcome import JobError
from kafka_zk.spark.jobs.source_runs import Runs, joined, part, size, without

MAX_EPOCH = 2**15 - 1
MAX_RECORDS = 2**31 - 1
"""The most records that sequences of one note can number."""


class Span(NamedTuple):
    """`record_count` records whose offsets follow each other in both: source_offset + n became target_offset + n."""

    source_offset: int
    target_offset: int
    record_count: int


@dataclass(frozen=True, slots=True)
class Sending:
    """One partition's part of a note. `start`: the target's end when it was noted; `sent`: what is sent from there on,
    in order; `arrived`: what came before, and `spans`: where that is, as far as known. `to`: the topic that
    it is sent to, which earlier versions did not note."""

    start: int
    identity: ProducerIdentity
    sent: Runs
    arrived: Runs = ()
    spans: tuple[Span, ...] = ()
    to: str | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """By source partition; `topic_ids` are the target's, as text, of topics that have one. `transactional`: what is
    sent is in one transaction."""

    partitions: Mapping[TopicPartition, Sending] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    transactional: bool = False

    def encode(self) -> str:
        partitions = [
            [*each, sending.start, list(sending.identity), sending.sent, sending.arrived, sending.spans, sending.to]
            for each, sending in sorted(self.partitions.items())
        ]
        content = {"partitions": partitions, "topic_ids": dict(self.topic_ids)}
        return json.dumps(content | ({"transactional": True} if self.transactional else {}))


class NoteName(NamedTuple):
    """The file of one note: which one it is of its batch, and, for one in a transaction, who wrote it.

    So a run that is fenced while it writes its note does not write over that of the run that fenced it.
    """

    batch: str
    number: int
    identity: ProducerIdentity | None = None

    def __str__(self) -> str:
        of_whom = "" if self.identity is None else f"-{self.identity.producer_id}-{self.identity.epoch}"
        return f"{self.batch}.note-{self.number}{of_whom}"

    def is_later_than(self, identity: ProducerIdentity) -> bool:
        """Whether its writer has fenced the one with this identity."""
        own = self.identity
        return own is not None and own.producer_id == identity.producer_id and own.epoch > identity.epoch


def note_names(names: Iterable[str], batch: str, own: ProducerIdentity | None = None) -> list[NoteName]:
    """The notes of a batch among the names of files, in the order in which their writers fenced each other.

    The number does not tell: a fenced run may write its note late. `own`: of the transaction of who asks, for a copy in
    transactions. Another producer id is given when the epochs of one are used up, or its transactional.id is forgotten:
    who asks has fenced all that have another one.
    """
    prefix = f"{batch}.note-"
    found: list[NoteName] = []
    for name in names:
        if name.startswith(prefix):
            number, *of_whom = map(int, name.removeprefix(prefix).split("-"))
            found.append(NoteName(batch, number, ProducerIdentity(*of_whom) if of_whom else None))
    first: dict[int, int] = {}
    for each in found:
        if each.identity is not None:
            producer_id = each.identity.producer_id
            first[producer_id] = min(first.get(producer_id, each.number), each.number)

    def place(each: NoteName) -> tuple[int, bool, int, int, int]:
        # Those without an identity are of earlier versions, or of copies without transactions, which have no others.
        if each.identity is None:
            return 0, False, 0, 0, each.number
        producer_id, epoch = each.identity
        return 1, own is not None and producer_id == own.producer_id, first[producer_id], producer_id, epoch

    return sorted(found, key=place)


def decode_note(text: str) -> Note:
    content = json.loads(text)
    return Note(
        {
            TopicPartition(topic, index): Sending(
                start,
                ProducerIdentity(*identity),
                tuple((offset, count) for offset, count in sent),
                tuple((offset, count) for offset, count in arrived),
                tuple(Span(*span) for span in spans),
                *to,
            )
            for topic, index, start, identity, sent, arrived, spans, *to in content["partitions"]
        },
        content["topic_ids"],
        content.get("transactional", False),
    )


def noted_of(notes: Sequence[Note], rename: Mapping[str, str]) -> Note:
    """The last note of each partition, from a batch's notes in order, for the topic it is now copied to.

    Records sent to a topic of another name are another copy, which continues where it was when `rename` names it again.
    """
    partitions: dict[TopicPartition, Sending] = {}
    ids: dict[str, str] = {}
    for note in notes:
        for each, sending in note.partitions.items():
            name = rename.get(each.topic, each.topic)
            # On a cluster with topic ids, an earlier version identified the target by them.
            is_here = sending.to == name if sending.to else name in note.topic_ids or not note.topic_ids
            if is_here:
                partitions[each] = sending
                ids |= {topic: topic_id for topic, topic_id in note.topic_ids.items() if topic == name}
    return Note(partitions, ids, any(note.transactional for note in notes))


def renamed_partitions(
    partitions: Iterable[TopicPartition], rename: Mapping[str, str]
) -> dict[TopicPartition, TopicPartition]:
    """The target of each partition. Raises JobError if two have the same target."""
    found: dict[TopicPartition, TopicPartition] = {}
    sources: dict[str, str] = {}
    for each in partitions:
        name = rename.get(each.topic, each.topic)
        if sources.setdefault(name, each.topic) != each.topic:
            raise JobError(f"topics {sources[name]} and {each.topic} cannot both be copied to {name}")
        found[each] = TopicPartition(name, each.partition)
    return found


def check_topic_ids(noted: Mapping[str, str], found: Mapping[str, str], where: str) -> None:
    """Raise JobError for a topic whose id differs from the noted one."""
    for topic, topic_id in sorted(noted.items()):
        if found.get(topic, topic_id) != topic_id:
            raise JobError(
                f"topic {topic} of {where} was deleted and created again since this job began; use a new checkpoint"
            )


def spans_of(sending: Sending, found: Arrivals) -> list[Span]:
    """The offsets of the records that arrived. Raises JobError if they are more than were sent."""
    if found.count > size(sending.sent):
        raise JobError(f"found {found.count} records of this copy, but only {size(sending.sent)} were sent")
    spans: list[Span] = []
    for run in found.runs:
        at = run.offset
        for offset, count in part(sending.sent, run.sequence, run.length):
            last = spans[-1] if spans else None
            if last and (last[0] + last[2], last[1] + last[2]) == (offset, at):
                spans[-1] = Span(last[0], last[1], last[2] + count)
            else:
                spans.append(Span(offset, at, count))
            at += count
    return spans


def next_sending(
    before: Sending, found: Arrivals, wanted: Runs, end: int, new: ProducerIdentity, to: str | None = None
) -> Sending:
    """How a partition continues: `before` itself if its rest is still what is to be sent.

    `end` is where the target ends, `new` an unused producer.
    """
    arrived, left = _arrived_and_left(before, found, wanted)
    if left == part(before.sent, found.count, MAX_RECORDS):
        return before
    producer_id, epoch = before.identity
    identity = ProducerIdentity(producer_id, epoch + 1) if epoch < MAX_EPOCH else new
    return Sending(end, identity, _countable(left), arrived, (*before.spans, *spans_of(before, found)), to)


def next_transaction(
    before: Sending, found: Arrivals, wanted: Runs, end: int, new: ProducerIdentity, to: str | None = None
) -> Sending:
    """As `next_sending`, where `found` was committed: all that was sent, or nothing, and nothing more comes of it."""
    arrived, left = _arrived_and_left(before, found, wanted)
    if not left and found.count == size(before.sent):
        return before
    return Sending(end, new, _countable(left), arrived, (*before.spans, *spans_of(before, found)), to)


def _arrived_and_left(before: Sending, found: Arrivals, wanted: Runs) -> tuple[Runs, Runs]:
    arrived = joined(before.arrived, _in_order(part(before.sent, 0, found.count)))
    left = without(wanted, arrived)
    return arrived, left


def first_sending(wanted: Runs, end: int, identity: ProducerIdentity, to: str | None = None) -> Sending:
    """The first part of a partition without notes."""
    return Sending(end, identity, _countable(wanted), to=to)


def _in_order(runs: Runs) -> Runs:
    return tuple(sorted(runs))


def _countable(runs: Runs) -> Runs:
    if size(runs) > MAX_RECORDS:
        raise JobError(f"{size(runs)} records of one partition exceed the limit of one batch, {MAX_RECORDS}")
    return runs


def translate(committed: int, table: Sequence[Span]) -> int | None:
    """The target offset at which a group that would read `committed` next continues; None without any span.

    In a hole or behind the last record it is the end of the records before: no record is ever skipped. Below the
    first record it is the first. `table` is in order.
    """
    if not table:
        return None
    index = bisect_right([span.source_offset for span in table], committed) - 1
    if index < 0:
        return table[0].target_offset
    span = table[index]
    return span.target_offset + min(committed - span.source_offset, span.record_count)
