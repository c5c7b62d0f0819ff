"""Groups: finding the coordinator, the life of a member in every version, offsets, administration; what is refused.

Each version has a group of its own, so that no answer depends on the version before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_zk.protocol.messages.create_topics import CREATE_TOPICS_REQUEST, CreatableTopic, CreateTopicsRequest
from kafka_zk.protocol.messages.delete_groups import DELETE_GROUPS_REQUEST, DeleteGroupsRequest
from kafka_zk.protocol.messages.describe_groups import DESCRIBE_GROUPS_REQUEST, DescribeGroupsRequest
from kafka_zk.protocol.messages.find_coordinator import FIND_COORDINATOR_REQUEST, FindCoordinatorRequest
from kafka_zk.protocol.messages.heartbeat import HEARTBEAT_REQUEST, HeartbeatRequest
from kafka_zk.protocol.messages.join_group import JOIN_GROUP_REQUEST, JoinGroupRequest, JoinGroupRequestProtocol
from kafka_zk.protocol.messages.leave_group import LEAVE_GROUP_REQUEST, LeaveGroupRequest, MemberIdentity
from kafka_zk.protocol.messages.list_groups import LIST_GROUPS_REQUEST, ListGroupsRequest
from kafka_zk.protocol.messages.offset_commit import (
    OFFSET_COMMIT_REQUEST,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_zk.protocol.messages.offset_delete import (
    OFFSET_DELETE_REQUEST,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafka_zk.protocol.messages.offset_fetch import (
    OFFSET_FETCH_REQUEST,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kafka_zk.protocol.messages.sync_group import SYNC_GROUP_REQUEST, SyncGroupRequest, SyncGroupRequestAssignment
from tests.interop.replay.scenario import Build, Exchange, World
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient

TOPIC = "groups-topic"
GROUP_KEY, SHARE_KEY = 0, 2
SUBSCRIPTION = bytes.fromhex("0001000000010001740000000000000000")
ASSIGNMENT = bytes.fromhex("0001000000010001740000000100000000ffffffff")


# --- who coordinates -------------------------------------------------------------------------------------------------


def find(key: str, key_type: int = GROUP_KEY) -> Build:
    def build(world: World, version: int) -> FindCoordinatorRequest:
        given: dict[str, Any] = {} if version == 0 else {"key_type": key_type}
        if version < 4:
            return FindCoordinatorRequest(key=key, **given)
        return FindCoordinatorRequest(coordinator_keys=[key], **given)

    return build


def find_once_created(world: World, version: int) -> FindCoordinatorRequest:
    """Waits until the coordinators of all partitions have loaded."""
    request = find("g")(world, version)
    groups = [f"probe-{number}" for number in range(20)]

    def is_there() -> bool:
        with RawClient(world.bootstrap) as client:
            found = client.send(FIND_COORDINATOR_REQUEST, find("g")(world, 6), 6).coordinators[0]
            if found.error_code:
                return False
            answer = client.send(DESCRIBE_GROUPS_REQUEST, DescribeGroupsRequest(groups=groups), 5)
            return not any(group.error_code for group in answer.groups)

    if "coordinator" not in world.remembered:
        wait_until(is_there, "the group coordinator has loaded")
        world.remembered["coordinator"] = True
    return request


# --- members ---------------------------------------------------------------------------------------------------------


def group_of(world: World, version: int, name: str) -> str:
    """The group of one version of one story; the answer that follows is remembered for it."""
    world.remembered["group"] = group = f"{name}-v{version}"
    return group


def keep_member(world: World, answer: Any) -> None:
    world.remembered[world.remembered["group"]] = answer.member_id


def join(
    name: str,
    *,
    member: str | None = "",
    instance: str | None = None,
    session_ms: int = 10_000,
    protocol_type: str = "consumer",
    protocols: dict[str, bytes] | None = None,
) -> Build:
    """`member` None is the remembered one."""

    def build(world: World, version: int) -> JoinGroupRequest:
        group = group_of(world, version, name)
        wanted = {"range": SUBSCRIPTION} if protocols is None else protocols
        return JoinGroupRequest(
            group_id=group if name else "",
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=20_000,
            member_id=world.remembered[group] if member is None else member,
            group_instance_id=instance if version >= 5 else None,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=each, metadata=data) for each, data in wanted.items()],
        )

    return build


def sync(
    name: str,
    *,
    member: str | None = None,
    generation: int = 1,
    assignment: bytes | None = ASSIGNMENT,
    protocol_name: str | None = "range",
) -> Build:
    def build(world: World, version: int) -> SyncGroupRequest:
        group = group_of(world, version, name)
        member_id = world.remembered[group] if member is None else member
        return SyncGroupRequest(
            group_id=group if name else "",
            generation_id=generation,
            member_id=member_id,
            protocol_type="consumer" if protocol_name else None,
            protocol_name=protocol_name,
            assignments=[]
            if assignment is None
            else [SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)],
        )

    return build


def heartbeat(name: str, *, member: str | None = None, generation: int = 1, instance: str | None = None) -> Build:
    def build(world: World, version: int) -> HeartbeatRequest:
        group = group_of(world, version, name)
        return HeartbeatRequest(
            group_id=group if name else "",
            generation_id=generation,
            member_id=world.remembered[group] if member is None else member,
            group_instance_id=instance if version >= 3 else None,
        )

    return build


def leave(name: str, *, member: str | None = None, instance: str | None = None, twice: bool = False) -> Build:
    def build(world: World, version: int) -> LeaveGroupRequest:
        group = group_of(world, version, name)
        member_id = world.remembered[group] if member is None else member
        if version < 3:
            return LeaveGroupRequest(group_id=group if name else "", member_id=member_id)
        leaver = MemberIdentity(member_id=member_id, group_instance_id=instance)
        return LeaveGroupRequest(group_id=group if name else "", members=[leaver, leaver] if twice else [leaver])

    return build


# --- offsets ---------------------------------------------------------------------------------------------------------


def commit(
    name: str,
    *,
    member: str | None = "",
    generation: int = -1,
    topic: str = TOPIC,
    partition: int = 0,
    metadata: str | None = "m",
    offset: int = 5,
) -> Build:
    def build(world: World, version: int) -> OffsetCommitRequest:
        group = group_of(world, version, name)
        given: dict[str, Any] = {"committed_leader_epoch": 0} if version >= 6 else {}
        wanted = OffsetCommitRequestPartition(
            partition_index=partition, committed_offset=offset, committed_metadata=metadata, **given
        )
        return OffsetCommitRequest(
            group_id=group if name else "",
            generation_id_or_member_epoch=generation,
            member_id=world.remembered[group] if member is None else member,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=[wanted])],
        )

    return build


def fetch(name: str, *, topics: dict[str, list[int]] | None, stable: bool = False) -> Build:
    def build(world: World, version: int) -> OffsetFetchRequest:
        group = group_of(world, version, name) if name else ""
        given: dict[str, Any] = {"require_stable": stable} if version >= 7 else {}
        if version >= 8:
            wanted = OffsetFetchRequestGroup(
                group_id=group,
                topics=None
                if topics is None
                else [
                    OffsetFetchRequestTopics(name=topic, partition_indexes=indexes) for topic, indexes in topics.items()
                ],
            )
            other = OffsetFetchRequestGroup(group_id="never-seen", topics=None)
            return OffsetFetchRequest(groups=[wanted, other], **given)
        listed = (
            None
            if topics is None
            else [OffsetFetchRequestTopic(name=topic, partition_indexes=indexes) for topic, indexes in topics.items()]
        )
        return OffsetFetchRequest(group_id=group, topics=listed, **given)

    return build


def fetch_as_member(name: str, member: str, epoch: int) -> Build:
    """Version 9 names who asks; the classic coordinator does not look at it."""

    def build(world: World, version: int) -> OffsetFetchRequest:
        wanted = OffsetFetchRequestGroup(
            group_id=name,
            member_id=member,
            member_epoch=epoch,
            topics=[OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])],
        )
        return OffsetFetchRequest(groups=[wanted])

    return build


def delete_offsets(group: str, topics: dict[str, list[int]]) -> Build:
    def build(world: World, version: int) -> OffsetDeleteRequest:
        return OffsetDeleteRequest(
            group_id=group,
            topics=[
                OffsetDeleteRequestTopic(
                    name=topic,
                    partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in indexes],
                )
                for topic, indexes in topics.items()
            ],
        )

    return build


def commit_doubles(group: str) -> Build:
    """Partitions named twice: each line that is refused is answered, and of the others the last one counts."""

    def build(world: World, version: int) -> OffsetCommitRequest:
        partitions = [
            OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="")
            for offset, index in enumerate((1, 7, 1, 9, 7, 1))
        ]
        return OffsetCommitRequest(group_id=group, topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=partitions)])

    return build


def create_topic(world: World, version: int) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[CreatableTopic(name=TOPIC, num_partitions=2, replication_factor=1)], timeout_ms=30_000
    )


# --- administration --------------------------------------------------------------------------------------------------


def describe(name: str, *, operations: bool = True) -> Build:
    def build(world: World, version: int) -> DescribeGroupsRequest:
        given: dict[str, Any] = {"include_authorized_operations": operations} if version >= 3 else {}
        return DescribeGroupsRequest(groups=[group_of(world, version, name) if name else ""], **given)

    return build


def describe_fixed(group: str) -> Build:
    def build(world: World, version: int) -> DescribeGroupsRequest:
        return DescribeGroupsRequest(groups=[group, group])

    return build


def delete(*groups: str) -> Build:
    def build(world: World, version: int) -> DeleteGroupsRequest:
        return DeleteGroupsRequest(groups_names=[f"{group}-v{version}" for group in groups])

    return build


STRANGE_IDS = {
    "a space": " ",
    "a slash and dots": "../a/b",
    "a NUL": "a\0b",
    "a line end": "a\nb",
    "an emoji": "\U0001f600",
    "right to left": "\u202eg",
    "a quote": "'\"`;--",
    "very long": "x" * 20_000,
    "the smallest hash": "polygenelubricants",
}


def strange_join(group: str) -> Build:
    def build(world: World, version: int) -> JoinGroupRequest:
        return JoinGroupRequest(
            group_id=group,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=20_000,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)],
        )

    return build


def strange_commit(group: str) -> Build:
    def build(world: World, version: int) -> OffsetCommitRequest:
        wanted = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata=group[:50])
        return OffsetCommitRequest(group_id=group, topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=[wanted])])

    return build


def delete_fixed(group: str) -> Build:
    return lambda world, version: DeleteGroupsRequest(groups_names=[group])


def list_groups(states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> Build:
    def build(world: World, version: int) -> ListGroupsRequest:
        given: dict[str, Any] = {}
        if version >= 4:
            given["states_filter"] = list(states)
        if version >= 5:
            given["types_filter"] = list(types)
        return ListGroupsRequest(**given)

    return build


def story(name: str, versions: tuple[int, ...]) -> Callable[..., Exchange]:
    """An exchange maker for one story, in some versions."""

    def exchange(what: str, message: Any, build: Build, keep: Any = None) -> Exchange:
        known_versions = tuple(version for version in versions if version in message.versions)
        return Exchange(f"{name}: {what}", message, build, versions=known_versions, keep=keep)

    return exchange


def fetch_named_twice(world: World, version: int) -> OffsetFetchRequest:
    """A topic twice, a partition twice, a topic without partitions."""
    wanted = ((TOPIC, [0]), ("nowhere", []), (TOPIC, [0]))
    if version < 8:
        topics = [OffsetFetchRequestTopic(name=name, partition_indexes=indexes) for name, indexes in wanted]
        return OffsetFetchRequest(group_id="nobody", topics=topics)
    named = [OffsetFetchRequestTopics(name=name, partition_indexes=indexes) for name, indexes in wanted]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="nobody", topics=named)])


FIND, JOIN, SYNC, BEAT = FIND_COORDINATOR_REQUEST, JOIN_GROUP_REQUEST, SYNC_GROUP_REQUEST, HEARTBEAT_REQUEST
LEAVE, COMMIT, FETCH = LEAVE_GROUP_REQUEST, OFFSET_COMMIT_REQUEST, OFFSET_FETCH_REQUEST
FORGET = OFFSET_DELETE_REQUEST
DESCRIBE, LIST, DELETE = DESCRIBE_GROUPS_REQUEST, LIST_GROUPS_REQUEST, DELETE_GROUPS_REQUEST

one = story("one member", (0,))
plain = story("member of old", (0, 1, 2, 3))
known = story("member with an id", (4,))
static = story("static member", (5,))

EXCHANGES = (
    Exchange("groups: heartbeat without coordinator", BEAT, heartbeat("g", member="m")),
    Exchange("groups: first search", FIND, find("g"), versions=(0,)),
    Exchange("groups: coordinator", FIND, find_once_created),
    Exchange("groups: coordinator of nobody", FIND, find("")),
    Exchange("groups: coordinator of a strange key", FIND, find("g", 7), versions=(1, 3, 4, 5, 6)),
    Exchange("groups: coordinator of a share", FIND, find("g", SHARE_KEY), versions=(1, 3, 4, 5)),
    Exchange("groups: a topic", CREATE_TOPICS_REQUEST, create_topic, versions=(5,)),
    Exchange("groups: none yet", LIST, list_groups()),
    # One group only, so that the order of groups does not matter.
    one("join", JOIN, join("one"), keep_member),
    one("sync", SYNC, sync("one")),
    Exchange("groups: one", LIST, list_groups()),
    Exchange("groups: stable ones", LIST, list_groups(("stable",)), versions=(4, 5)),
    Exchange("groups: dead ones", LIST, list_groups(("DEAD", "nonsense")), versions=(4, 5)),
    Exchange("groups: classic ones", LIST, list_groups(types=("Classic",)), versions=(5,)),
    Exchange("groups: new ones", LIST, list_groups(types=("consumer",)), versions=(5,)),
    Exchange("groups: one described", DESCRIBE, describe_fixed("one-v0")),
    # Nobody knows the group.
    Exchange("groups: unknown joins", JOIN, join("nobody", member="m")),
    Exchange("groups: offsets of what is named twice", FETCH, fetch_named_twice),
    Exchange("groups: unknown syncs", SYNC, sync("nobody", member="m")),
    Exchange("groups: unknown beats", BEAT, heartbeat("nobody", member="m")),
    Exchange("groups: unknown leaves", LEAVE, leave("nobody", member="m")),
    Exchange("groups: unknown commits", COMMIT, commit("nobody", member="m", generation=3)),
    Exchange("groups: unknown fetches", FETCH, fetch("nobody", topics={TOPIC: [0], "never-seen": [7]})),
    Exchange("groups: unknown fetches all", FETCH, fetch("nobody", topics=None), versions=tuple(range(2, 10))),
    Exchange("groups: unknown described", DESCRIBE, describe("nobody")),
    Exchange("groups: unknown deleted", DELETE, delete("nobody", "nobody", "no-one")),
    # The group has no name.
    Exchange("groups: nameless joins", JOIN, join("")),
    Exchange("groups: nameless syncs", SYNC, sync("", member="m")),
    Exchange("groups: nameless beats", BEAT, heartbeat("", member="m")),
    Exchange("groups: nameless leaves", LEAVE, leave("", member="m")),
    Exchange("groups: nameless commits", COMMIT, commit("")),
    Exchange("groups: nameless fetches", FETCH, fetch("", topics={TOPIC: [0]})),
    Exchange("groups: nameless described", DESCRIBE, describe("")),
    # What a join must bring.
    Exchange("groups: session too short", JOIN, join("short", session_ms=5_999)),
    Exchange("groups: session too long", JOIN, join("long", session_ms=1_800_001)),
    Exchange("groups: no protocol type", JOIN, join("typeless", protocol_type="")),
    Exchange("groups: no protocols", JOIN, join("speechless", protocols={})),
    Exchange("groups: bad instance id", JOIN, join("static-bad", instance="a b"), versions=(5, 9)),
    # A member without an id, as clients before KIP-394 are.
    plain("join", JOIN, join("old"), keep_member),
    plain("heartbeat before sync", BEAT, heartbeat("old")),
    plain("commit before sync", COMMIT, commit("old", member=None, generation=1)),
    plain("described before sync", DESCRIBE, describe("old")),
    plain("sync of yesterday", SYNC, sync("old", generation=0)),
    plain("sync", SYNC, sync("old")),
    plain("sync again", SYNC, sync("old", assignment=None)),
    plain("heartbeat", BEAT, heartbeat("old")),
    plain("heartbeat of yesterday", BEAT, heartbeat("old", generation=0)),
    plain("heartbeat of a stranger", BEAT, heartbeat("old", member="m")),
    plain("join of a stranger", JOIN, join("old", member="m")),
    plain("join with other words", JOIN, join("old", protocols={"sticky": b""})),
    plain("join of another type", JOIN, join("old", protocol_type="connect")),
    plain("commit", COMMIT, commit("old", member=None, generation=1)),
    plain("commit of yesterday", COMMIT, commit("old", member=None, generation=0, offset=1)),
    plain("commit of a stranger", COMMIT, commit("old", member="m", generation=1, offset=1)),
    plain("commit of nobody", COMMIT, commit("old", offset=1)),
    plain("fetch", FETCH, fetch("old", topics={TOPIC: [0], "never-seen": [7]})),
    plain("described", DESCRIBE, describe("old")),
    plain("offsets of what is read", FORGET, delete_offsets("old-v0", {TOPIC: [0]})),
    plain("delete while full", DELETE, lambda world, version: DeleteGroupsRequest(groups_names=["old-v1"])),
    plain("leave of a stranger", LEAVE, leave("old", member="m")),
    plain("leave", LEAVE, leave("old")),
    plain("described when empty", DESCRIBE, describe("old")),
    # KIP-394.
    known("join", JOIN, join("new"), keep_member),
    known("heartbeat while pending", BEAT, heartbeat("new", generation=0)),
    known("join again", JOIN, join("new", member=None)),
    known("sync", SYNC, sync("new")),
    known("leave twice", LEAVE, leave("new", twice=True)),
    # KIP-345.
    static("join", JOIN, join("static", instance="i"), keep_member),
    static("sync without words", SYNC, sync("static", protocol_name=None)),
    static("sync", SYNC, sync("static")),
    static("join of the same instance", JOIN, join("static", instance="i")),
    static("removed by an operator", LEAVE, leave("static", member="", instance="i")),
    # Offsets that only an offset store keeps.
    Exchange("groups: commit alone", COMMIT, commit("alone")),
    Exchange("groups: fetch alone", FETCH, fetch("alone", topics={TOPIC: [0]})),
    Exchange("groups: fetch alone, all", FETCH, fetch("alone", topics=None), versions=tuple(range(2, 10))),
    Exchange(
        "groups: fetch alone, stable", FETCH, fetch("alone", topics={TOPIC: [0]}, stable=True), versions=(7, 8, 9)
    ),
    Exchange("groups: commit without metadata", COMMIT, commit("alone", metadata=None)),
    Exchange("groups: commit too much metadata", COMMIT, commit("alone", metadata="x" * 4097)),
    Exchange("groups: commit to an unknown topic", COMMIT, commit("alone", topic="never-seen")),
    Exchange("groups: commit to an unknown partition", COMMIT, commit("alone", partition=9)),
    Exchange("groups: fetch as a stranger", FETCH, fetch_as_member("alone-v5", "m", 99), versions=(9,)),
    Exchange("groups: commit with doubles", COMMIT, commit_doubles("doubles"), versions=(2, 8)),
    Exchange("groups: fetch doubles", FETCH, fetch_as_member("doubles", "", -1), versions=(8,)),
    Exchange("groups: offsets of nobody deleted", FORGET, delete_offsets("nobody", {TOPIC: [0]})),
    Exchange("groups: offsets of the nameless deleted", FORGET, delete_offsets("", {TOPIC: [0]})),
    Exchange(
        "groups: offsets deleted", FORGET, delete_offsets("doubles", {TOPIC: [0, 7, 1], "never-seen": [0], "empty": []})
    ),
    Exchange("groups: no offsets deleted", FORGET, delete_offsets("alone-v5", {})),
    Exchange("groups: offsets never seen deleted", FORGET, delete_offsets("alone-v5", {"never-seen": [0]})),
    Exchange("groups: last offset deleted", FORGET, delete_offsets("alone-v6", {TOPIC: [0]})),
    Exchange("groups: group of the last offset", DESCRIBE, describe_fixed("alone-v6")),
    # A group that no consumer is in, and one whose subscription nobody can read.
    one("connector joins", JOIN, join("connector", protocol_type="connect", protocols={"range": b""}), keep_member),
    one("connector syncs", SYNC, sync("connector")),
    one("connector's offsets", FORGET, delete_offsets("connector-v0", {TOPIC: [0]})),
    one("mumbler joins", JOIN, join("mumbler", protocols={"range": b"?"}), keep_member),
    one("mumbler syncs", SYNC, sync("mumbler")),
    one("mumbler's offsets", FORGET, delete_offsets("mumbler-v0", {TOPIC: [0], "never-seen": [1]})),
    one("reader joins", JOIN, join("reader"), keep_member),
    one("reader while it joins", FORGET, delete_offsets("reader-v0", {TOPIC: [0]})),
    one("reader syncs", SYNC, sync("reader")),
    one("reader's other offsets", FORGET, delete_offsets("reader-v0", {TOPIC: [0]})),
    *(
        Exchange(f"groups: {what}, {name}", message, build(group), versions=(version,))
        for name, group in STRANGE_IDS.items()
        for what, message, build, version in (
            ("joins", JOIN, lambda group: strange_join(group), 4),
            ("commits", COMMIT, lambda group: strange_commit(group), 8),
            ("fetches", FETCH, lambda group: fetch_as_member(group, "", -1), 8),
            ("described", DESCRIBE, describe_fixed, 4),
            ("coordinator", FIND, find, 4),
            ("deleted", DELETE, lambda group: delete_fixed(group), 2),
        )
    ),
    *(
        Exchange(
            f"groups: generation {generation} of {member or 'nobody'}",
            COMMIT,
            commit("late", generation=generation, member=member),
            versions=(2, 8),
        )
        for generation in (-(2**31), -2, 0, 2**31 - 1)
        for member in ("", "m")
    ),
    Exchange("groups: offset below zero", COMMIT, commit("alone", offset=-5), versions=(8,)),
    Exchange("groups: fetch below zero", FETCH, fetch("alone", topics={TOPIC: [0]}), versions=(8,)),
    Exchange("groups: largest metadata", COMMIT, commit("alone", metadata="\u00e9" * 4096), versions=(7,)),
    Exchange("groups: metadata in surrogates", COMMIT, commit("alone", metadata="\U0001f600" * 2049), versions=(6,)),
    Exchange("groups: describe alone", DESCRIBE, describe("alone", operations=False)),
    Exchange("groups: delete alone", DELETE, delete("alone", "nobody")),
    Exchange("groups: fetch deleted", FETCH, fetch("alone", topics={TOPIC: [0]}), versions=(1, 5)),
)
