"""Moves between the log directories of a broker, what is refused, and where the replicas lie in the end.

For a broker whose log.dirs are the folders a, b and c of one folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kafka_zk.protocol.messages.alter_replica_log_dirs import (
    ALTER_REPLICA_LOG_DIRS_REQUEST,
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafka_zk.protocol.messages.create_topics import (
    CREATE_TOPICS_REQUEST,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafka_zk.protocol.messages.describe_log_dirs import (
    DESCRIBE_LOG_DIRS_REQUEST,
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from tests.interop.replay.inventory import produce
from tests.interop.replay.scenario import Exchange, World
from tests.support.allowed import allowed
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient

DIRECTORIES = ("a", "b", "c")
PARTITIONS = frozenset({"partitions"})
"""Apache's come in the order of a hash map, ours by number."""
Topics = dict[str, list[int]]


def create(name: str, partitions: int = 1) -> Exchange:
    """One that keeps its old records: on a slow machine retention would come before the last look at their size."""
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[CreatableTopicConfig(name="retention.ms", value="-1")],
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=20_000)
    return Exchange(f"create: {name}", CREATE_TOPICS_REQUEST, lambda world, version: request, [7])


def move(name: str, *wanted: tuple[str, Topics], versions: range = range(3)) -> Exchange:
    """`wanted` are directories, `{a}` for one that the broker has, and what shall come into them."""

    def build(world: World, version: int) -> AlterReplicaLogDirsRequest:
        own = world.remembered["directories"]
        return AlterReplicaLogDirsRequest(
            dirs=[
                AlterReplicaLogDir(
                    path=path.format(**own),
                    topics=[
                        AlterReplicaLogDirTopic(name=topic, partitions=indexes) for topic, indexes in topics.items()
                    ],
                )
                for path, topics in wanted
            ]
        )

    return Exchange(f"move: {name}", ALTER_REPLICA_LOG_DIRS_REQUEST, build, versions, unordered=PARTITIONS)


def remember_directories(world: World, answer: Any) -> None:
    world.remembered["directories"] = {Path(result.log_dir).name: result.log_dir for result in answer.results}


def described(name: str, topics: Topics | None = None) -> Exchange:
    """Where the replicas lie when no move is under way any more."""
    asked = None if topics is None else [DescribableLogDirTopic(topic=t, partitions=p) for t, p in topics.items()]

    def build(world: World, version: int) -> DescribeLogDirsRequest:
        wait_until(lambda: not _is_moving(world), "no move is under way")
        return DescribeLogDirsRequest(topics=asked)

    return Exchange(
        f"log dirs: {name}",
        DESCRIBE_LOG_DIRS_REQUEST,
        build,
        keep=remember_directories,
        ignore={"usable_bytes": allowed("shared-disk", by_chance=True)},
        unordered=PARTITIONS,
    )


def _is_moving(world: World) -> bool:
    with RawClient(world.bootstrap) as client:
        answer = client.send(DESCRIBE_LOG_DIRS_REQUEST, DescribeLogDirsRequest(topics=None), 1)
    return any(
        partition.is_future_key
        for result in answer.results
        for topic in result.topics
        for partition in topic.partitions
    )


EXCHANGES = (
    described("before anything is there"),
    create("six", 6),
    produce("to be moved", "six"),
    produce("an idempotent batch", "six", producer_id=7, producer_epoch=2, base_sequence=0),
    # Apache makes the partitions of a topic in the order of a hash map: which comes into which directory is its own.
    move(
        "two into each", ("{a}", {"six": [0, 3]}), ("{b}", {"six": [1, 4]}), ("{c}", {"six": [2, 5]}), versions=range(1)
    ),
    described("two in each"),
    move("nothing"),
    move("no topics", ("{a}", {})),
    move("no partitions", ("{a}", {"six": []})),
    move("no topics into an unknown directory", ("/nowhere", {})),
    move("an unknown directory", ("/nowhere", {"six": [0, 1]})),
    move("an unknown directory for what is not here", ("/nowhere", {"nothing": [0]})),
    move("a relative path", ("a", {"six": [0], "nothing": [0]})),
    move("no path", ("", {"six": [0], "nothing": [0]})),
    move("a path with a slash too many", ("{b}/", {"six": [0]})),
    move("a path with a detour", ("{a}/../b", {"six": [0]})),
    move("below a directory", ("{a}/six-0", {"six": [0]})),
    move("where they are", ("{a}", {"six": [0, 3]}), ("{b}", {"six": [1, 4]}), ("{c}", {"six": [2, 5]})),
    move("an unknown topic", ("{a}", {"nothing": [0, 1]})),
    move("an unknown partition", ("{a}", {"six": [6, -1]})),
    move("bad names", ("{a}", {"no/where": [0], "": [0], "..": [0]})),
    move("known and unknown", ("{a}", {"six": [0, 9], "nothing": [0]}), ("/nowhere", {"six": [3]})),
    described("nothing has moved"),
    move("one", ("{b}", {"six": [0]})),
    described("one has moved"),
    move("one back", ("{a}", {"six": [0]})),
    described("it is back"),
    move("one twice", ("{c}", {"six": [0, 0]}), versions=range(1)),
    move("one into two directories", ("{b}", {"six": [3]}), ("{c}", {"six": [3]}), versions=range(1)),
    move("one into two directories, one unknown", ("{b}", {"six": [1]}), ("/nowhere", {"six": [1]}), versions=range(1)),
    move("one into two directories, one unknown first", ("/nowhere", {"six": [4]}), ("{a}", {"six": [4]})),
    move("one directory twice", ("{a}", {"six": [2]}), ("{a}", {"six": [5]}), versions=range(1, 2)),
    described("several have moved"),
    produce("to a moved one", "six"),
    produce("the next idempotent batch", "six", producer_id=7, producer_epoch=2, base_sequence=3),
    produce("the last idempotent batch again", "six", producer_id=7, producer_epoch=2, base_sequence=3),
    described("written to", {"six": [0]}),
    # Remembered for when they are made: all of one in the directory that has most; of another the last word.
    move("what is not there yet", ("{a}", {"chosen": [0, 1, 2]}), versions=range(2, 3)),
    move("what is not there yet, first", ("{a}", {"twice": [0]}), versions=range(1)),
    move("what is not there yet, last", ("{c}", {"twice": [0]}), versions=range(1)),
    move(
        "what is not there yet, then elsewhere", ("{b}", {"refused": [0]}), ("{c}", {"refused": [1]}), versions=range(1)
    ),
    move("what is not there yet, then nowhere", ("/nowhere", {"refused": [0]}), versions=range(1)),
    create("chosen", 4),
    described("chosen before", {"chosen": [0, 1, 2, 3]}),
    create("twice", 2),
    create("refused", 2),
    create("free", 3),
    described("all"),
    described("some", {"chosen": [0], "six": [5], "nothing": [0]}),
)
