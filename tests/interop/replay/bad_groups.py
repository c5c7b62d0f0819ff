"""Groups again, asked as no honest client asks: names that cannot be read, words that say nothing, far too much."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from kafka_zk.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_zk.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_zk.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_zk.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_zk.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafka_zk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_zk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kafka_zk.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.interop.replay.groups import (
    ASSIGNMENT,
    BEAT,
    COMMIT,
    DELETE,
    DESCRIBE,
    FETCH,
    FIND,
    FORGET,
    JOIN,
    LEAVE,
    SUBSCRIPTION,
    SYNC,
    TOPIC,
    commit,
    delete_fixed,
    delete_offsets,
    describe_fixed,
    fetch,
    fetch_as_member,
    find,
    heartbeat,
    join,
    keep_member,
    strange_join,
    sync,
)
from tests.interop.replay.scenario import Build, Exchange, World

LONGEST = 2**15 - 1
FIRST_FLEXIBLE = {"FindCoordinator": 3, "OffsetCommit": 8, "OffsetFetch": 6, "JoinGroup": 6, "Heartbeat": 4}
FIRST_FLEXIBLE |= {"LeaveGroup": 4, "SyncGroup": 4, "DescribeGroups": 5, "DeleteGroups": 2}
PLACE = "where-the-id-goes"


# --- ids as bytes ----------------------------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    head = b""
    while value > 0x7F:
        head += bytes([value & 0x7F | 0x80])
        value >>= 7
    return head + bytes([value])


def with_id(message: Any, build: Build, raw: bytes | None) -> Build:
    """The request that `build` makes for the group PLACE, with other bytes there; None is no string at all."""
    flexible_from = FIRST_FLEXIBLE[message.name.removesuffix("Request")]

    def patched(world: World, version: int) -> bytes:
        body = bytes(message.encode(build(world, version), version))
        if version >= flexible_from:
            old = varint(len(PLACE) + 1) + PLACE.encode()
            new = b"\0" if raw is None else varint(len(raw) + 1) + raw
        else:
            old = struct.pack(">h", len(PLACE)) + PLACE.encode()
            new = struct.pack(">h", -1) if raw is None else struct.pack(">h", len(raw)) + raw
        assert body.count(old) == 1
        return body.replace(old, new)

    return patched


def beat_of(group: str) -> Build:
    def build(world: World, version: int) -> Any:
        request = heartbeat("any", member="m")(world, version)
        request.group_id = group
        return request

    return build


RAW_IDS = {
    "no id": None,
    "no UTF-8": b"\xff\xfeg",
    "half a character": b"g\xf0\x9f\x98",
    "as many bytes as fit": b"y" * LONGEST,
}
TOO_LONG = b"y" * (LONGEST + 1)
"""The length of a flexible version could say it."""
ASKED = (
    ("joins", JOIN, strange_join, (3, 9)),
    ("beats", BEAT, beat_of, (3, 4)),
    ("commits", COMMIT, lambda group: commit_lines(group, [(TOPIC, [line()])]), (7, 8)),
    ("fetches", FETCH, lambda group: fetch_as_member(group, "", -1), (8,)),
    ("described", DESCRIBE, lambda group: _described_once(group), (4, 5)),
    ("coordinator", FIND, find, (2, 4)),
    ("deleted", DELETE, delete_fixed, (1, 2)),
)


def _described_once(group: str) -> Build:
    return lambda world, version: DescribeGroupsRequest(groups=[group])


# --- members ---------------------------------------------------------------------------------------------------------


def join_offering(name: str, protocols: Sequence[tuple[str, bytes]], **how: Any) -> Build:
    def build(world: World, version: int) -> JoinGroupRequest:
        request = join(name)(world, version)
        request.protocols = [JoinGroupRequestProtocol(name=each, metadata=data) for each, data in protocols]
        for field, value in how.items():
            setattr(request, field, value)
        return request

    return build


def sync_bringing(name: str, *assignments: tuple[str | None, bytes], protocol_name: str = "range") -> Build:
    """Member None is the remembered one, or a stranger if it was not let in."""

    def build(world: World, version: int) -> SyncGroupRequest:
        member_id = world.remembered.get(f"{name}-v{version}", "m")
        request = sync(name, member=member_id, protocol_name=protocol_name)(world, version)
        request.assignments = [
            SyncGroupRequestAssignment(member_id=request.member_id if member is None else member, assignment=data)
            for member, data in assignments
        ]
        return request

    return build


def leave_all(group: str, *leavers: tuple[str, str | None]) -> Build:
    def build(world: World, version: int) -> LeaveGroupRequest:
        return LeaveGroupRequest(
            group_id=group,
            members=[MemberIdentity(member_id=member, group_instance_id=instance) for member, instance in leavers],
        )

    return build


LISTS = {
    "two": [("range", b"1"), ("sticky", b"2")],
    "nameless": [("", SUBSCRIPTION)],
    "a thousand": [(f"p{number}", SUBSCRIPTION) for number in range(1000)],
    "long name": [("r" * LONGEST, SUBSCRIPTION)],
    "silent": [("range", b"")],
}
HUGE = b"h" * 1_100_000
"""More than a record of the group may be."""
HUGE_SUBSCRIPTION = SUBSCRIPTION[:9] + struct.pack(">i", len(HUGE)) + HUGE + SUBSCRIPTION[13:]


def life(name: str, protocols: Sequence[tuple[str, bytes]], chosen: str) -> tuple[Exchange, ...]:
    """A member that offers these comes, is given something, is looked at and goes."""
    group = name.replace(" ", "-")
    of = f"{group}-v3"

    def leaves(world: World, version: int) -> LeaveGroupRequest:
        return LeaveGroupRequest(group_id=of, members=[MemberIdentity(member_id=world.remembered.get(of, "m"))])

    return (
        Exchange(f"groups: {name} joins", JOIN, join_offering(group, protocols), (3,), keep_member),
        Exchange(f"groups: {name} syncs", SYNC, sync_bringing(group, (None, ASSIGNMENT), protocol_name=chosen), (3,)),
        Exchange(f"groups: {name} is looked at", DESCRIBE, describe_fixed(of), (5,)),
        Exchange(f"groups: {name} leaves", LEAVE, leaves, (3,)),
    )


# --- offsets ---------------------------------------------------------------------------------------------------------


def commit_lines(group: str, topics: Sequence[tuple[str, Sequence[dict[str, Any]]]], **how: Any) -> Build:
    def build(world: World, version: int) -> OffsetCommitRequest:
        return OffsetCommitRequest(
            group_id=group,
            topics=[
                OffsetCommitRequestTopic(
                    name=name, partitions=[OffsetCommitRequestPartition(**line) for line in partitions]
                )
                for name, partitions in topics
            ],
            **how,
        )

    return build


def line(partition: int = 0, offset: int = 1, metadata: str | None = "", **more: Any) -> dict[str, Any]:
    return {
        "partition_index": partition,
        "committed_offset": offset,
        "committed_metadata": metadata,
        **more,
    }


def fetch_groups(*groups: tuple[str, dict[str, list[int]] | None]) -> Build:
    def build(world: World, version: int) -> OffsetFetchRequest:
        return OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(
                    group_id=group,
                    topics=None
                    if topics is None
                    else [OffsetFetchRequestTopics(name=name, partition_indexes=each) for name, each in topics.items()],
                )
                for group, topics in groups
            ]
        )

    return build


TOPIC_NAMES = {"empty": "", "with a space": "a b", "dots": "..", "far too long": "t" * 300, "a snowman": "\u2603"}
EDGES = (-(2**63), -2, -1, 0, 2**63 - 1)

EXCHANGES = (
    *(
        Exchange(f"groups: {what}, {name}", message, with_id(message, build(PLACE), raw), versions)
        for name, raw in RAW_IDS.items()
        for what, message, build, versions in ASKED
    ),
    *(
        Exchange(f"groups: {what}, too long", message, with_id(message, build(PLACE), TOO_LONG), versions[-1:])
        for what, message, build, versions in ASKED
    ),
    # Who does not say what it is called.
    Exchange("groups: a client without a name joins", JOIN, join("nameless-client"), (3,), keep_member, client_id=None),
    Exchange("groups: a client without a name syncs", SYNC, sync("nameless-client"), (3,), client_id=None),
    Exchange("groups: a client without a name is looked at", DESCRIBE, describe_fixed("nameless-client-v3"), (5,)),
    Exchange("groups: a client without a name commits", COMMIT, commit("no-name"), (2, 8), client_id=None),
    # What members offer.
    *(each for name, protocols in LISTS.items() for each in life(f"offer {name}", protocols, protocols[0][0])),
    *life("offer huge", [("range", HUGE_SUBSCRIPTION)], "range"),
    *(
        Exchange(f"groups: {what}", JOIN, join_offering(f"times-{number}", [("range", SUBSCRIPTION)], **how), (3, 9))
        for number, (what, how) in enumerate(
            {
                "session of least time": {"session_timeout_ms": 6_000},
                "session of most time": {"session_timeout_ms": 1_800_000},
                "session below zero": {"session_timeout_ms": -(2**31)},
                "no time to rebalance": {"rebalance_timeout_ms": 0},
                "less than no time to rebalance": {"rebalance_timeout_ms": -(2**31)},
                "all time to rebalance": {"rebalance_timeout_ms": 2**31 - 1},
                "a type with a NUL": {"protocol_type": "a\0b"},
                "a long member id": {"member_id": "m" * LONGEST},
                "a strange member id": {"member_id": "\u2603 \0"},
            }.items()
        )
    ),
    *(
        Exchange(
            f"groups: instance {what}",
            JOIN,
            join_offering(f"instance {what}", [("range", SUBSCRIPTION)], group_instance_id=instance),
            (5, 9),
        )
        for what, instance in {
            "empty": "",
            "dot": ".",
            "dots": "..",
            "slash": "a/b",
            "of 249": "i" * 249,
            "of 250": "i" * 250,
            "snowman": "\u2603",
            "NUL": "\0",
        }.items()
    ),
    Exchange("groups: the long instance leaves", LEAVE, leave_all("instance of 249-v5", ("", "i" * 249)), (3,)),
    # What leaders bring.
    *(
        each
        for what, assignments in {
            "to strangers": [("stranger", b"1"), ("", b"2")],
            "to a stranger and itself": [("stranger", b"1"), (None, ASSIGNMENT)],
            "twice": [(None, b"first"), (None, b"second")],
            "to nobody": [],
            "too much": [(None, HUGE)],
        }.items()
        for each in (
            Exchange(f"groups: joins to give {what}", JOIN, join(f"give-{what}"), (3,), keep_member),
            Exchange(f"groups: gives {what}", SYNC, sync_bringing(f"give-{what}", *assignments), (3,)),
            Exchange(f"groups: given {what}", DESCRIBE, describe_fixed(f"give-{what}-v3"), (5,)),
        )
    ),
    # Who leaves.
    Exchange("groups: nobody leaves", LEAVE, leave_all("give-twice-v3"), (3, 5)),
    Exchange(
        "groups: strangers leave",
        LEAVE,
        leave_all("give-twice-v3", ("", None), ("s", None), ("", "i"), ("s", "i"), ("\u2603", "\0")),
        (3, 5),
    ),
    Exchange("groups: many strangers leave", LEAVE, leave_all("give-twice-v3", *[("s", None)] * 1000), (4,)),
    Exchange("groups: strangers leave nothing", LEAVE, leave_all("never-there", ("s", None)), (3,)),
    # What is committed.
    *(
        Exchange(f"groups: commit to a topic {what}", COMMIT, commit("strange-topics", topic=name), (2, 8))
        for what, name in TOPIC_NAMES.items()
    ),
    *(
        Exchange(f"groups: commit to partition {number}", COMMIT, commit("edges", partition=number), (2, 8))
        for number in (-1, -(2**31), 2**31 - 1)
    ),
    *(
        each
        for offset in EDGES
        for each in (
            Exchange(f"groups: commit {offset}", COMMIT, commit("edges", offset=offset), (2, 8)),
            Exchange(f"groups: fetch {offset}", FETCH, fetch("edges", topics={TOPIC: [0]}), (2, 8)),
        )
    ),
    *(
        each
        for epoch in (-(2**31), -1, 2**31 - 1)
        for each in (
            Exchange(
                f"groups: commit of epoch {epoch}",
                COMMIT,
                commit_lines("epochs", [(TOPIC, [line(committed_leader_epoch=epoch)])]),
                (6, 8),
            ),
            Exchange(f"groups: fetch of epoch {epoch}", FETCH, fetch_groups(("epochs", {TOPIC: [0]})), (8,)),
        )
    ),
    *(
        Exchange(
            f"groups: commit for {kept_ms} ms",
            COMMIT,
            commit_lines(f"kept-{kept_ms}", [(TOPIC, [line()])], retention_time_ms=kept_ms),
            (2, 4),
        )
        for kept_ms in (-(2**63), -2, -1, 86_400_000, 2**63 - 1)
    ),
    Exchange("groups: commit of nothing", COMMIT, commit_lines("nothing", []), (2, 8)),
    Exchange("groups: commit to no partition", COMMIT, commit_lines("nothing", [(TOPIC, [])]), (2, 8)),
    Exchange(
        "groups: commit to one topic twice",
        COMMIT,
        commit_lines("nothing", [(TOPIC, [line(offset=1)]), (TOPIC, [line(offset=2)])]),
        (8,),
    ),
    Exchange("groups: the last one counts", FETCH, fetch_groups(("nothing", {TOPIC: [0]})), (8,)),
    Exchange("groups: nothing is described", DESCRIBE, describe_fixed("nothing"), (5,)),
    *(
        Exchange(
            f"groups: metadata of {size}",
            COMMIT,
            commit_lines("sizes", [(TOPIC, [line(partition, metadata="a" * size)])]),
            (2, 8),
        )
        for partition, size in ((0, 4096), (1, 4097))
    ),
    Exchange(
        "groups: metadata with a NUL", COMMIT, commit_lines("sizes", [(TOPIC, [line(1, metadata="\0\u2603")])]), (8,)
    ),
    *(
        Exchange(f"groups: metadata as kept of {index}", FETCH, fetch_groups(("sizes", {TOPIC: [index]})), (8,))
        for index in (0, 1)
    ),
    # What is asked for.
    *(
        Exchange(f"groups: fetch of {topic[:9]!r} {indexes}", FETCH, fetch("edges", topics={topic: indexes}), (1, 5, 8))
        for topic, indexes in (
            (TOPIC, [-1]),
            (TOPIC, [2**31 - 1]),
            (TOPIC, [0, 0]),
            (TOPIC, []),
            ("", [0]),
            ("a b", [0]),
            ("t" * 300, [0]),
            ("\u2603", [7]),
        )
    ),
    Exchange(
        "groups: fetch a group twice",
        FETCH,
        fetch_groups(("edges-v2", None), ("edges-v2", {TOPIC: [1]}), ("", None)),
        (8, 9),
    ),
    Exchange(
        "groups: delete the impossible", FORGET, delete_offsets("edges-v8", {TOPIC: [-1, 7], "": [0], "a b": [1]})
    ),
    Exchange("groups: describe none", DESCRIBE, lambda *_: DescribeGroupsRequest(groups=[]), (0, 5)),
    Exchange("groups: delete none", DELETE, lambda *_: DeleteGroupsRequest(groups_names=[]), (0, 2)),
    Exchange("groups: find none", FIND, lambda *_: FindCoordinatorRequest(coordinator_keys=[]), (4, 6)),
    Exchange("groups: find twice", FIND, lambda *_: FindCoordinatorRequest(coordinator_keys=["g", "", "g"]), (4, 6)),
)
