"""A start with damaged small files: what ours serves, takes offline and leaves is what Apache's does.

One start of each broker for all that only touches its own directory: each case is an entry of log.dirs.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from kazoo.client import KazooClient

from kafka_zk.log.files import names
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.list_offsets import (
    LIST_OFFSETS_REQUEST,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest
from kafka_zk.protocol.types import uuid_to_base64
from tests.interop.bad_files import (
    CLUSTER_ID,
    CONFIG,
    LATEST_EPOCH,
    SOUND,
    UNREADABLE,
    Case,
    cases,
    given_directory,
    of_the_whole_broker,
    same,
    topic_id_of,
)
from tests.support.allowed import Allowed, allowed
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient
from tests.support.wire import try_fetch
from tests.support.znodes import as_json, looking_at


def _offline_there(*files: str) -> dict[str, tuple[str, ...]]:
    """A file that can be written again is no broken disk: ours warns, makes it again, and serves the directory."""
    return {
        Case(file, how, same).topic: ("served", names.CLEAN_SHUTDOWN, file.removeprefix("../"))
        for file in files
        for how in UNREADABLE
    }


LOST_BY_A_WRONG_INDEX = ("served", "00000000000000000012.snapshot", names.RECOVERY_POINTS, names.HIGH_WATERMARKS)
REPLACED_BY_NOISE = (
    "served",
    names.CLEAN_SHUTDOWN,
    "00000000000000000000.index",
    "00000000000000000000.log",
    "00000000000000000000.log.swap",
)
DELIBERATE: dict[Allowed, dict[str, tuple[str, ...]]] = {
    allowed("unreadable-checkpoints"): {
        **_offline_there(
            *(f"../{name}" for name in (names.RECOVERY_POINTS, names.LOG_START_OFFSETS, names.HIGH_WATERMARKS))
        ),
        # What stands behind the last line end was torn off there: the digits may go on.
        "dir-log-start-offset-checkpoint-no-last-line-end": ("served", names.LOG_START_OFFSETS),
    },
    allowed("torn-epochs"): {
        **_offline_there(names.LEADER_EPOCHS),
        "leader-epoch-checkpoint-noise-killed": ("served", names.CLEAN_SHUTDOWN, names.LEADER_EPOCHS),
        "leader-epoch-checkpoint-no-last-line-end": (names.LEADER_EPOCHS,),
    },
    allowed("epochs-after-a-clean-stop"): {
        "leader-epoch-checkpoint-falling": (names.LEADER_EPOCHS,),
        "leader-epoch-checkpoint-tmp-left-over": (f"{names.LEADER_EPOCHS}.tmp",),
        "leader-epoch-checkpoint-tmp-left-over-killed": (f"{names.LEADER_EPOCHS}.tmp",),
    },
    allowed("log-start-behind-the-end"): {
        "dir-log-start-offset-checkpoint-beyond-the-end": ("00000000000000001000.snapshot",),
    },
    allowed("wrong-indexes"): {
        "index-a-huge-line": LOST_BY_A_WRONG_INDEX,
        "index-flipped": LOST_BY_A_WRONG_INDEX,
        "index-flipped-killed": ("served",),
    },
    allowed("damaged-txnindex"): {
        "txnindex-half": ("00000000000000000004.txnindex",),
        "txnindex-half-killed": ("00000000000000000004.txnindex",),
    },
    # Apache's broker puts it in the place of a segment that was sound.
    allowed("swap-without-a-batch"): {
        "00000000000000000000-log-swap-left-over": REPLACED_BY_NOISE,
        "00000000000000000000-log-swap-left-over-killed": REPLACED_BY_NOISE,
    },
}
"""What differs of each case. One that differs no more fails."""

REFUSED_THERE = {
    names.LEADER_EPOCHS: allowed("epochs-that-are-no-numbers"),
    f"../{names.HIGH_WATERMARKS}": allowed("high-watermarks-that-are-no-numbers"),
    names.PARTITION_METADATA: allowed("empty-partition-metadata"),
    f"*{names.TRANSACTION_INDEX}": allowed("damaged-txnindex"),
}
"""What can be made again is no reason not to start."""

STARTED = "started (kafka.server.KafkaServer)"


class Outcome(NamedTuple):
    """What a client sees of a partition, and what a clean stop leaves in its log directory."""

    served: str
    left: dict[str, bytes]


def given_znodes(connect: str, all_cases: Sequence[Case]) -> None:
    with looking_at(connect) as zk:
        _make(zk, "/cluster/id", {"version": "1", "id": CLUSTER_ID})
        for case in all_cases:
            assignment = {"version": 3, "partitions": {"0": [0]}, "adding_replicas": {}, "removing_replicas": {}}
            _make(zk, f"/brokers/topics/{case.topic}", {**assignment, "topic_id": uuid_to_base64(topic_id_of(case))})
            state = {"version": 1, "leader": 0, "leader_epoch": LATEST_EPOCH, "controller_epoch": 0, "isr": [0]}
            _make(zk, f"/brokers/topics/{case.topic}/partitions/0/state", state)


def _make(zk: KazooClient, path: str, document: object) -> None:
    zk.create(path, as_json(document), makepath=True)


def is_settled(client: RawClient, topics: set[str]) -> bool:
    """Whether each partition has a leader, or its only replica is known to be offline."""
    answer = client.send(METADATA_REQUEST, MetadataRequest(topics=None), 9)
    found = {each.name: each.partitions[0] for each in answer.topics if each.partitions}
    return topics <= found.keys() and all(
        found[topic].leader_id == 0 or found[topic].offline_replicas for topic in topics
    )


def offset_at(client: RawClient, topic: str, timestamp: int) -> tuple[ErrorCode, int]:
    wanted = ListOffsetsTopic(name=topic, partitions=[ListOffsetsPartition(partition_index=0, timestamp=timestamp)])
    answer = client.send(LIST_OFFSETS_REQUEST, ListOffsetsRequest(topics=[wanted]), 4)
    found = answer.topics[0].partitions[0]
    return ErrorCode(found.error_code), found.offset


def served(client: RawClient, topic: str) -> str:
    """Where it starts and ends, and the records, or the first error."""
    said = []
    (code, offset), (_, end) = offset_at(client, topic, -2), offset_at(client, topic, -1)
    if code:
        return code.name
    said.append(f"[{offset}, {end})")
    while offset < end:
        code, records = try_fetch(client, topic, offset)
        wanted = [record for record in records if record.offset >= offset]
        if code or not wanted:
            said.append(code.name if code else f"nothing at {offset}")
            break
        said += [(record.value or b"").decode("latin-1") for record in wanted if len(record.value or b"") < 6]
        offset = wanted[-1].offset + 1
    return " ".join(said)


def left_in(log_dir: Path) -> dict[str, bytes]:
    """Every file behind a stop; what is on its way to deletion is as good as gone."""
    found = {}
    for path in sorted(each for each in log_dir.rglob("*") if each.is_file()):
        name = str(path.relative_to(log_dir))
        if path.name.endswith(names.DELETED) or path.name in (names.LOCK, ".kafka_zk_session"):
            continue
        content = path.read_bytes()
        if path.suffix in (names.OFFSET_INDEX, names.TIME_INDEX):
            content = content.rstrip(b"\0")  # Room for entries, where the directory went offline.
        if path.name in (names.META_PROPERTIES, names.CLEAN_SHUTDOWN):
            content = b"\n".join(sorted(each for each in content.split(b"\n") if each[:1] not in (b"#", b"{")))
        found[name] = content
    return found


def start(
    kind: type[ApacheBroker | OurBroker], home: Path, zookeeper: str, all_cases: Sequence[Case]
) -> tuple[int | None, dict[str, Outcome]]:
    """The exit code if it refuses, and what is seen of each case."""
    given_znodes(zookeeper, all_cases)
    dirs = {case.topic: home / "data" / case.topic for case in all_cases}
    broker = kind(home, zookeeper, overrides={**CONFIG, "log.dirs": ",".join(map(str, dirs.values()))})
    try:
        broker.launch()
        wait_until(lambda: not broker.process.is_running or STARTED in broker.process.output(), "it starts, or not")
        if not broker.process.is_running:
            return broker.process.wait(), {topic: Outcome("", left_in(path)) for topic, path in dirs.items()}
        broker.wait_ready()
        with RawClient(broker.bootstrap) as client:
            wait_until(lambda: is_settled(client, set(dirs)), "every partition is served or offline")
            found = {topic: served(client, topic) for topic in dirs}
        broker.stop()
    finally:
        broker.kill()
    return None, {topic: Outcome(found[topic], left_in(path)) for topic, path in dirs.items()}


def both(
    tmp_path: Path, zookeeper: str, all_cases: Sequence[Case]
) -> tuple[tuple[int | None, dict[str, Outcome]], tuple[int | None, dict[str, Outcome]]]:
    """What Apache's broker and ours make of the same directories: exit code, outcomes."""
    made = tmp_path / "made"
    made.mkdir(parents=True)
    for case in all_cases:
        given_directory(made / case.topic, case)
    seen = []
    for kind in (ApacheBroker, OurBroker):
        home = tmp_path / kind.__name__
        shutil.copytree(made, home / "data", ignore=shutil.ignore_patterns("sound"))
        seen.append(start(kind, home, f"{zookeeper}-{kind.__name__}", all_cases))
    return seen[0], seen[1]


def differing(case: Case, apache: Outcome, ours: Outcome) -> tuple[str, ...]:
    """What is not the same: "served", and the files. A damaged index is made again at its first use, by a thread."""
    files = {*apache.left, *ours.left}
    if case.is_of_an_index:
        files = {name for name in files if not name.endswith((names.OFFSET_INDEX, names.TIME_INDEX))}
    found = sorted({name.rpartition("/")[2] for name in files if apache.left.get(name) != ours.left.get(name)})
    return (*(["served"] if apache.served != ours.served else []), *found)


def test_what_a_damaged_file_does_to_its_own_directory(tmp_path: Path, zookeeper_connect: str) -> None:
    all_cases = list(cases())
    (refused, theirs), (refused_by_ours, ours) = both(tmp_path, zookeeper_connect, all_cases)
    assert (refused, refused_by_ours) == (None, None)
    found = {case.topic: differing(case, theirs[case.topic], ours[case.topic]) for case in all_cases}
    wanted = {
        topic: tuple(sorted(files, key=lambda name: (name != "served", name)))
        for topics in DELIBERATE.values()
        for topic, files in topics.items()
    }
    assert {topic: files for topic, files in found.items() if files} == wanted


@pytest.mark.slow
@pytest.mark.parametrize("case", list(of_the_whole_broker()), ids=lambda case: case.topic)
def test_what_a_damaged_file_does_to_the_whole_broker(case: Case, tmp_path: Path, zookeeper_connect: str) -> None:
    (code, theirs), (our_code, ours) = both(tmp_path, zookeeper_connect, [SOUND, case])
    served = [each.served for each in theirs.values()], [each.served for each in ours.values()]
    assert ((code, served[0]) == (our_code, served[1])) == (case.file not in REFUSED_THERE)


def test_what_is_said_to_be_refused_there_is_tried() -> None:
    assert REFUSED_THERE.keys() - {case.file for case in of_the_whole_broker()} == set()
