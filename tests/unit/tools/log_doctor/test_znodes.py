"""What data directories imply: leaders, epochs, topic ids, configs, producer ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kafka_zk.log.doctor.checks.offsets import Checkpointed
from kafka_zk.log.doctor.partition import PartitionReport, PartitionTask
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.log_doctor.znodes import Replica, beyond, imply
from kafka_zk.zk.znodes.topics import TopicPartitionStateZNode
from tests.unit.log.doctor.given import make, printed

TOPIC_ID = UUID(int=5 << 70)


def replica(
    broker_id: int,
    partition: int = 0,
    *,
    topic: str = "t",
    end_offset: int = 10,
    epoch: int = 4,
    topic_id: UUID | None = TOPIC_ID,
    **more: Any,
) -> Replica:
    task = PartitionTask(
        Path(f"/data/{broker_id}/{topic}-{partition}"),
        TopicPartition(topic, partition),
        is_copy=False,
        clean_stop=True,
        knows_recovery_points=True,
        checkpointed=Checkpointed(None, None, None, None),
        deep=False,
        index_interval_bytes=4096,
    )
    report = PartitionReport(task, end_after_start=end_offset, latest_epoch=epoch, topic_id=topic_id, **more)
    return Replica(broker_id, report)


def implied(*replicas: Replica, cluster_id: str | None = "c", broker_retention: bool = True) -> dict[str, Any]:
    found = imply(replicas, cluster_id, broker_retention=broker_retention)
    return {path: json.loads(data) for path, data in found.znodes} | {"warnings": found.warnings}


def state(znodes: dict[str, Any], partition: int = 0) -> tuple[int, int, list[int]]:
    found = znodes[f"/brokers/topics/t/partitions/{partition}/state"]
    return found["leader"], found["leader_epoch"], found["isr"]


def test_the_replica_that_is_furthest_leads_and_those_equal_to_it_are_in_sync() -> None:
    znodes = implied(replica(1, end_offset=9), replica(2), replica(3))
    assert state(znodes) == (2, 5, [2, 3])
    assert znodes["/brokers/topics/t"]["partitions"] == {"0": [2, 1, 3]}


def test_a_later_epoch_goes_before_a_longer_log() -> None:
    """What a replaced leader wrote last was never committed."""
    assert state(implied(replica(1, end_offset=30, epoch=3), replica(2))) == (2, 5, [2])


def test_the_leader_epoch_is_above_every_one_seen_and_begins_with_0() -> None:
    assert state(implied(replica(1, epoch=7)))[1] == 8
    assert state(implied(replica(1, epoch=-1)))[1] == 0


def test_a_topic_id_is_kept_and_a_missing_one_left_to_the_controller() -> None:
    assert implied(replica(1))["/brokers/topics/t"]["topic_id"] == "AAAAAAAAAUAAAAAAAAAAAA"
    assert "topic_id" not in implied(replica(1, topic_id=None))["/brokers/topics/t"]


def test_the_state_is_one_that_every_controller_may_follow() -> None:
    found = implied(replica(1))["/brokers/topics/t/partitions/0/state"]
    assert (found["controller_epoch"], found["version"]) == (0, 1)


@pytest.mark.parametrize(
    ("replicas", "said"),
    [
        ([replica(1), replica(2, topic_id=UUID(int=6))], "its partitions have different topic ids"),
        ([replica(1), replica(1)], "partition 0 occurs twice on one broker"),
        ([replica(1, failure="torn")], "partition 0 of broker 1 cannot be opened: torn"),
    ],
)
def test_nothing_is_said_of_a_topic_that_contradicts_itself(replicas: list[Replica], said: str) -> None:
    znodes = implied(*replicas)
    assert znodes["warnings"] == [f"skipping topic t: {said}"]
    assert "/brokers/topics/t" not in znodes


def test_a_partition_that_nobody_has_is_told() -> None:
    (warning,) = implied(replica(1, 0), replica(1, 3))["warnings"]
    assert warning.startswith("topic t: partitions 1, 2 are in none of these directories")


def test_configs_keep_everything_until_somebody_has_made_them_again() -> None:
    kept = implied(replica(1), broker_retention=False)["/config/topics/t"]["config"]
    assert kept == {"retention.ms": "-1", "retention.bytes": "-1"}
    assert implied(replica(1))["/config/topics/t"]["config"] == {}


def test_compacted_and_internal_topics_stay_compacted() -> None:
    """With the broker's cleanup.policy committed offsets would be deleted after a week."""
    znodes = implied(replica(1, was_compacted=True), replica(1, topic="__consumer_offsets"), broker_retention=False)
    assert znodes["/config/topics/t"]["config"] == {"cleanup.policy": "compact"}
    assert znodes["/config/topics/__consumer_offsets"]["config"]["cleanup.policy"] == "compact"
    assert "retention.ms" not in znodes["/config/topics/__consumer_offsets"]["config"]


@pytest.mark.parametrize(("largest", "first"), [(0, 0), (999, 0), (1000, 1000), (5432, 5000)])
def test_producer_ids_go_on_behind_the_largest_one(largest: int, first: int) -> None:
    """A new producer with an old id would seem to repeat what the old one wrote."""
    block = implied(replica(1, largest_producer_id=largest))["/latest_producer_id_block"]
    assert (int(block["block_start"]), int(block["block_end"])) == (first, first + 999)


def test_without_producers_no_block_was_given_out() -> None:
    assert "/latest_producer_id_block" not in implied(replica(1))


def test_the_cluster_keeps_its_id_or_the_loss_is_told() -> None:
    assert implied(cluster_id="abc")["/cluster/id"]["id"] == "abc"
    without = implied(cluster_id=None)
    assert "/cluster/id" not in without
    assert "a new one" in without["warnings"][0]


def test_the_command_prints_one_znode_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = make(tmp_path / "data")
    code, out, err = printed(capsys, "--znodes", data)
    assert code == 0
    znodes = dict(line.split(" ", 1) for line in out.splitlines())
    assert json.loads(znodes["/brokers/topics/plain"])["partitions"] == {"0": [3], "1": [3]}
    assert json.loads(znodes["/brokers/topics/txn/partitions/0/state"])["leader_epoch"] == 1
    assert json.loads(znodes["/latest_producer_id_block"])["block_end"] == "999"
    assert "are not in data directories" in err


def test_the_broker_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = make(tmp_path / "data")
    (data / "meta.properties").unlink()
    assert "pass --broker-id" in printed(capsys, "--znodes", data)[2]
    code, out, _ = printed(capsys, "--znodes", "--broker-id", 9, data)
    assert code == 0
    assert '"leader":9' in out


STATE = b'{"version":1,"leader":1,"leader_epoch":5,"controller_epoch":0,"isr":[1]}'
BLOCK = b'{"version":1,"broker":1,"block_start":"3000","block_end":"3999"}'


@pytest.mark.parametrize(("theirs", "epoch"), [(3, 5), (4, 5), (5, 6), (40, 41)])
def test_a_state_that_is_replaced_gets_an_epoch_above_its_own(theirs: int, epoch: int) -> None:
    """A broker that is missing here may have led in that one, and has records of it."""
    before = json.dumps({"leader": 3, "leader_epoch": theirs, "isr": [3]}).encode()
    assert json.loads(beyond(STATE, before)) == json.loads(STATE) | {"leader_epoch": epoch}


@pytest.mark.parametrize(("last", "is_kept"), [("2999", False), ("3999", True), ("8999", True)])
def test_no_producer_ids_are_given_out_again(last: str, is_kept: bool) -> None:
    before = json.dumps({"broker": 3, "block_start": str(int(last) - 999), "block_end": last}).encode()
    assert beyond(BLOCK, before) == (before if is_kept else BLOCK)


def test_a_state_that_a_controller_has_written_is_replaced_although_it_differs_in_its_epochs_alone() -> None:
    """Its leader may have records of that epoch that are missing here."""
    before = json.dumps(json.loads(STATE) | {"leader_epoch": 40, "controller_epoch": 1}).encode()
    assert json.loads(beyond(STATE, before)) == json.loads(STATE) | {"leader_epoch": 41}


@pytest.mark.parametrize(("theirs", "epoch"), [(2**31 - 3, 2**31 - 2), (2**31 - 2, 5), (2**31 - 1, 5), (2**70, 5)])
def test_an_epoch_that_no_znode_can_hold_is_not_written(theirs: int, epoch: int) -> None:
    """A broker would pass over the whole partition."""
    before = json.dumps({"leader": 3, "leader_epoch": theirs, "isr": [3]}).encode()
    state = beyond(STATE, before)
    assert TopicPartitionStateZNode.decode(state, None, TopicPartition("t", 0)).leader_epoch == epoch


@pytest.mark.parametrize(
    "before", [b"", b"x", b"[]", b"7", b'{"leader_epoch":"x","block_end":null}', b"{}", b'{"leader_epoch":1e400}']
)
@pytest.mark.parametrize("data", [STATE, BLOCK, b'{"partitions":{}}'])
def test_a_znode_with_another_content_is_replaced_as_it_is(data: bytes, before: bytes) -> None:
    assert beyond(data, before) == data
