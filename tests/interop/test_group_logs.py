"""One data directory, two brokers: what one coordinator wrote into __consumer_offsets the other goes on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_zk.protocol.messages.describe_groups import DESCRIBE_GROUPS_REQUEST, DescribeGroupsRequest
from kafka_zk.protocol.messages.heartbeat import HEARTBEAT_REQUEST, HeartbeatRequest
from kafka_zk.protocol.messages.join_group import JOIN_GROUP_REQUEST
from kafka_zk.protocol.messages.offset_commit import OFFSET_COMMIT_REQUEST
from kafka_zk.protocol.messages.offset_fetch import OFFSET_FETCH_REQUEST
from kafka_zk.protocol.messages.sync_group import SYNC_GROUP_REQUEST
from tests.interop.replay import groups
from tests.interop.replay.scenario import World
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.raw_client import RawClient, as_plain
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

VERSION = 5
STATIC = "static-v5"


def ask(world: World, message: Any, request: Any, version: int = VERSION) -> Any:
    with RawClient(world.bootstrap) as client:
        return client.send(message, request, version)


def give_the_groups_a_life(world: World) -> None:
    """A stable group with a static member, and offsets with and without a group."""
    groups.find_once_created(world, 4)
    ask(world, groups.CREATE_TOPICS_REQUEST, groups.create_topic(world, VERSION))
    join = groups.join("static", instance="i", session_ms=600_000)
    joined = ask(world, JOIN_GROUP_REQUEST, join(world, VERSION))
    assert joined.error_code == 0
    world.remembered[STATIC] = joined.member_id
    synced = ask(world, SYNC_GROUP_REQUEST, groups.sync("static")(world, VERSION))
    assert bytes(synced.assignment) == groups.ASSIGNMENT
    member_commits = groups.commit("static", member=None, generation=1, offset=11, metadata="by a member")
    for commit in (member_commits, groups.commit("alone", offset=22)):
        answer = ask(world, OFFSET_COMMIT_REQUEST, commit(world, VERSION))
        assert answer.topics[0].partitions[0].error_code == 0, answer


def picture(world: World) -> list[Any]:
    """All that can be asked about the groups."""
    world.wait_until_known()
    groups.find_once_created(world, 4)
    fetches = [groups.fetch(name, topics=None)(world, VERSION) for name in ("alone", "static")]
    return [
        as_plain(ask(world, DESCRIBE_GROUPS_REQUEST, DescribeGroupsRequest(groups=[STATIC, "alone-v5"]))),
        *[as_plain(ask(world, OFFSET_FETCH_REQUEST, request)) for request in fetches],
    ]


@pytest.mark.parametrize("order", [(OurBroker, ApacheBroker), (ApacheBroker, OurBroker)], ids=["ours", "apaches"])
def test_groups_and_offsets_survive_a_change_of_the_broker(
    zookeeper: ZooKeeperServer, tmp_path: Path, order: tuple[Any, Any]
) -> None:
    chroot = fresh_chroot(zookeeper, f"group-logs-{order[0].__name__}")
    first = order[0](tmp_path / "first", chroot).start()
    try:
        world = World(first.bootstrap)
        world.wait_until_known()
        give_the_groups_a_life(world)
        before = picture(World(first.bootstrap))
        member_id = world.remembered[STATIC]
        assert [answer["topics"][0]["partitions"][0]["committed_offset"] for answer in before[1:]] == [22, 11]
    finally:
        first.stop()
    second = order[1](tmp_path / "second", chroot, overrides={"log.dirs": str(first.log_dir)}).start()
    try:
        world = World(second.bootstrap)
        assert picture(world) == before
        beat = HeartbeatRequest(group_id=STATIC, generation_id=1, member_id=member_id, group_instance_id="i")
        assert ask(world, HEARTBEAT_REQUEST, beat, 4).error_code == 0, "the member need not notice"
    finally:
        second.stop()
