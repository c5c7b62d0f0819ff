"""Small files of a log directory, each damaged in each way: what a start makes of them is for the brokers to say.

A case is a log directory of its own with one partition: several segments, two leader epochs, an idempotent producer
and an aborted transaction, all that a clean stop leaves. Then one file is damaged; of `killed` ones the marker is gone.
"""

from __future__ import annotations

import random
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from kafka_zk.log.files import clean_shutdown, meta_properties, names, partition_metadata
from kafka_zk.log.files.checkpoint import encode_offsets
from kafka_zk.log.files.meta_properties import MetaProperties
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.produced import Origin
from tests.unit.log.given import Place, produced, topic_config

NOW = int(time.time() * 1000)
"""Producers of older records would be forgotten."""

CLUSTER_ID = "1eQ2ZjQIQfiwVojgCAGIug"
TOPIC_ID = UUID("c16252d2-1b25-441b-8a67-579dd471df44")
"""Of a topic that is nobody's: each case has its own."""

LATEST_EPOCH = 2
START, END = 2, 12
CONFIG = {
    "log.segment.bytes": "300",
    "log.index.interval.bytes": "100",
    "log.retention.ms": "-1",
    "log.cleaner.backoff.ms": "600000",
}
_chance = random.Random(11)
NOISE = _chance.randbytes(90)

Damage = Callable[[bytes], bytes | None]
"""The new content; None takes the file away."""


class Case(NamedTuple):
    """`file` is a name below the partition or, from "../" on, below the log directory; "*" takes every one."""

    file: str
    how: str
    damage: Damage
    killed: bool = False

    @property
    def topic(self) -> str:
        text = f"{self.file.replace('../', 'dir ')} {self.how} {'killed' if self.killed else ''}"
        return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")

    @property
    def is_of_an_index(self) -> bool:
        return self.file.removesuffix(names.SWAP).endswith((names.OFFSET_INDEX, names.TIME_INDEX))

    def apply(self, log_dir: Path) -> None:
        partition = log_dir / f"{self.topic}-0"
        folder, name = (log_dir, self.file[3:]) if self.file.startswith("../") else (partition, self.file)
        for path in sorted(folder.glob(name)) if "*" in name else [folder / name]:
            content = self.damage(path.read_bytes() if path.is_file() else b"")
            if content is None:
                path.unlink(missing_ok=True)
            else:
                path.write_bytes(content)
        if self.killed:
            clean_shutdown.delete(log_dir)


def same(content: bytes) -> bytes:
    return content


def becomes(content: bytes) -> Damage:
    return lambda _: content


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def line(number: int, text: str) -> Damage:
    """Another text in one line."""

    def damage(content: bytes) -> bytes:
        lines = content.decode().split("\n")
        lines[number] = text
        return "\n".join(lines).encode()

    return damage


def last_number(text: str) -> Damage:
    """Another offset in the last line."""
    return lambda content: re.sub(rb"\d+\n$", text.encode() + b"\n", content)


def flipped(content: bytes) -> bytes:
    return content[:-1] + bytes((content[-1] ^ 0x55,)) if content else b"\x55"


OF_ANY_FILE: dict[str, Damage] = {
    "empty": becomes(b""),
    "noise": becomes(NOISE),
    "half": cut,
    "zeros": lambda content: bytes(len(content)),
    "a huge line": becomes(b"9" * 100_000),
}
OF_LINES: dict[str, Damage] = {
    "version 1": line(0, "1"),
    "too few": line(1, "7"),
    "too many": line(1, "0"),
    "a word": last_number("many"),
    "negative": last_number("-1"),
    "beyond 64 bits": last_number("9" * 19),
    "beyond the end": last_number("1000"),
    "empty lines": lambda content: content + b"\n\n",
    "no last line end": lambda content: content[:-1],
    "of a topic that is not there": lambda content: content.replace(b"1\n", b"2\n", 1) + b"elsewhere 3 7\n",
}
UNREADABLE = ("noise", "half", "zeros", "a huge line", "version 1", "too few", "too many", "empty lines")
"""A checkpoint is none then. When Apache's broker notices one of the cleaner's, is up to the cleaner's thread."""

OF_PARTITION_METADATA: dict[str, Damage] = {
    **OF_ANY_FILE,
    "version 1": line(0, "version: 1"),
    "another topic's": line(1, "topic_id: wWJS0hslRBuKZ1ed1HHfRA"),
    "no id": line(1, "topic_id: AAAAAAAAAAAAAAAAAAAAAA"),
    "missing": lambda _: None,
}
OF_META_PROPERTIES: dict[str, Damage] = {
    **OF_ANY_FILE,
    "missing": lambda _: None,
    "version 1": lambda content: content.replace(b"version=0", b"version=1"),
    "KRaft's": lambda content: content.replace(b"version=0", b"version=1").replace(b"broker.id", b"node.id"),
    "version 2": lambda content: content.replace(b"version=0", b"version=2"),
    "no version": lambda content: content.replace(b"version=0\n", b""),
    "another broker's": lambda content: content.replace(b"broker.id=0", b"broker.id=1"),
    "a word for the broker": lambda content: content.replace(b"broker.id=0", b"broker.id=one"),
    "no broker": lambda content: content.replace(b"broker.id=0\n", b""),
    "another cluster's": lambda content: content.replace(CLUSTER_ID.encode(), b"AAAAAAAAAAAAAAAAAAAAAA"),
    "no cluster": lambda content: content.replace(f"cluster.id={CLUSTER_ID}\n".encode(), b""),
}
CHECKPOINTS = (names.RECOVERY_POINTS, names.LOG_START_OFFSETS, names.HIGH_WATERMARKS, names.CLEANER_OFFSETS)


FATAL = {
    *((names.LEADER_EPOCHS, how) for how in ("a word", "beyond 64 bits", "negative")),
    *((f"../{names.HIGH_WATERMARKS}", how) for how in ("a word", "beyond 64 bits")),
    (names.PARTITION_METADATA, "empty"),
    *((f"*{names.TRANSACTION_INDEX}", how) for how in ("noise", "a huge line")),
    *((f"../{names.META_PROPERTIES}", how) for how in ("another broker's", "another cluster's", "KRaft's")),
}
"""Apache's broker does not start, or, with a high watermark that is no number, leads no partition of the request."""

SOUND = Case(names.PARTITION_METADATA, "sound", same)


def cases() -> Iterator[Case]:
    """What touches its own directory and no other: one start is enough for all."""
    yield SOUND
    yield SOUND._replace(killed=True)
    yield from (case for case in every_case() if (case.file, case.how) not in FATAL)


def of_the_whole_broker() -> Iterator[Case]:
    """What stops Apache's broker, or more of it than its own directory: a start for each, beside a sound directory."""
    yield from (case for case in every_case() if (case.file, case.how) in FATAL)


def every_case() -> Iterator[Case]:
    for name in CHECKPOINTS:
        for how, damage in {**OF_ANY_FILE, **OF_LINES}.items():
            if name != names.CLEANER_OFFSETS or how not in UNREADABLE:
                yield Case(f"../{name}", how, damage)
        yield Case(f"../{name}", "missing", lambda _: None)
    for how, damage in {**OF_ANY_FILE, **OF_LINES}.items():
        if how != "of a topic that is not there":
            yield Case(names.LEADER_EPOCHS, how, damage)
    yield Case(names.LEADER_EPOCHS, "falling", line(3, "0 1"))
    yield Case(names.LEADER_EPOCHS, "missing", lambda _: None)
    yield Case(names.LEADER_EPOCHS, "noise", becomes(NOISE), killed=True)
    for how, damage in OF_PARTITION_METADATA.items():
        yield Case(names.PARTITION_METADATA, how, damage)
    for how, damage in OF_META_PROPERTIES.items():
        yield Case(f"../{names.META_PROPERTIES}", how, damage)
    for killed in (False, True):
        for how, damage in {**OF_ANY_FILE, "flipped": flipped, "missing": lambda _: None}.items():
            for kind in (names.PRODUCER_SNAPSHOT, *names.INDEXES):
                yield Case(f"*{kind}", how, damage, killed)
    for how, damage in {"noise": becomes(NOISE), "a huge line": becomes(b"9" * 100_000)}.items():
        yield Case(f"../{names.CLEAN_SHUTDOWN}", how, damage)
    yield from leftovers()


def leftovers() -> Iterator[Case]:
    """Files that a crash, or somebody, left there."""
    first = names.offset_file_name(0, names.LOG)
    for killed in (False, True):
        for name in (
            f"{first}{names.DELETED}",
            f"{first}{names.CLEANED}",
            f"{first}{names.SWAP}",
            f"{names.offset_file_name(0, names.OFFSET_INDEX)}{names.SWAP}",
            f"{names.offset_file_name(99, names.OFFSET_INDEX)}",
            f"{names.offset_file_name(99, names.PRODUCER_SNAPSHOT)}",
            f"{names.LEADER_EPOCHS}.tmp",
            "notes.txt",
        ):
            yield Case(name, "left over", becomes(NOISE), killed)
    for name in ("notes.txt", f"{names.RECOVERY_POINTS}.tmp"):
        yield Case(f"../{name}", "left over", becomes(NOISE))


def topic_id_of(case: Case) -> UUID:
    return UUID(int=random.Random(case.topic).getrandbits(128))


def given_directory(log_dir: Path, case: Case) -> None:
    """What a broker left that was stopped cleanly, then damaged."""
    made = log_dir.parent / "sound"
    if not made.exists():
        _given_partition(made)
    log_dir.mkdir()
    partition = TopicPartition(case.topic, 0)
    shutil.copytree(made / "t-0", log_dir / str(partition))
    for name in CHECKPOINTS:
        offset = {names.LOG_START_OFFSETS: START, names.CLEANER_OFFSETS: 3}.get(name, END)
        (log_dir / name).write_bytes(encode_offsets({partition: offset}))
    partition_metadata.write(log_dir / str(partition) / names.PARTITION_METADATA, topic_id_of(case))
    meta_properties.write(log_dir / names.META_PROPERTIES, MetaProperties(0, CLUSTER_ID), NOW)
    clean_shutdown.write(log_dir)
    case.apply(log_dir)


def _given_partition(folder: Path) -> None:
    folder.mkdir()
    place = Place(folder)
    log = place.open(topic_config(segment_bytes=300, index_interval_bytes=100))
    for number in range(10):
        batch = produced(str(number), timestamp=NOW + number, producer_id=1, epoch=0, sequence=number)
        log.append_as_leader(batch, leader_epoch=0 if number < 5 else LATEST_EPOCH)
        if number == 2:
            data = produced("gone", timestamp=NOW, producer_id=7, epoch=0, sequence=0, transactional=True)
            log.append_as_leader(data, leader_epoch=0)
            marker = build_marker(
                EndTransactionMarker(ControlType.ABORT, 0), producer_id=7, producer_epoch=0, timestamp_ms=NOW
            )
            log.append_as_leader(memoryview(marker), leader_epoch=0, origin=Origin.COORDINATOR)
    assert log.log_end_offset == END
    log.update_high_watermark(END)
    log.increment_log_start_offset(START)
    log.close()
