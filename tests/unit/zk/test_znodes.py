"""Every znode that live Apache Kafka clusters wrote is read, written again, and means the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kafka_zk.config.endpoints import EndPoint
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.errors import MalformedZNode
from kafka_zk.zk.operations import Stat
from kafka_zk.zk.znodes import (
    BrokerIdsZNode,
    BrokerIdZNode,
    BrokerRegistration,
    ClusterIdZNode,
    ConfigChangeZNode,
    ConfigEntityZNode,
    ConsumerOffsetZNode,
    ControllerEpochZNode,
    ControllerZNode,
    DelegationTokenChangeZNode,
    DelegationTokenZNode,
    FeatureState,
    FeatureZNode,
    IsrChangeNotificationZNode,
    LogDirEventNotificationZNode,
    PartitionReplicas,
    PreferredReplicaElectionZNode,
    ProducerIdBlock,
    ProducerIdBlockZNode,
    ReassignPartitionsZNode,
    ResourceZNode,
    TopicAssignment,
    TopicPartitionStateZNode,
    TopicZNode,
)
from kafka_zk.zk.znodes.access import AclChangeZNode

TREES = sorted((Path(__file__).parents[2] / "golden" / "20-zookeeper-tree").glob("*.json"))
STAT = Stat(
    czxid=77,
    mzxid=78,
    ctime=0,
    mtime=0,
    version=5,
    cversion=0,
    aversion=0,
    ephemeral_owner=0,
    data_length=0,
    num_children=0,
    pzxid=77,
)

RoundTrip = Callable[[bytes, re.Match[str]], bytes]
ROUND_TRIPS: dict[str, RoundTrip] = {
    r"/cluster/id": lambda data, _: ClusterIdZNode.encode(ClusterIdZNode.decode(data)),
    r"/controller": lambda data, _: ControllerZNode.encode(ControllerZNode.decode(data, STAT)),
    r"/controller_epoch": lambda data, _: ControllerEpochZNode.encode(ControllerEpochZNode.decode(data)),
    r"/feature": lambda data, _: FeatureZNode.encode(FeatureZNode.decode(data)),
    r"/latest_producer_id_block": lambda data, _: ProducerIdBlockZNode.encode(given(ProducerIdBlockZNode.decode(data))),
    r"/brokers/ids/(\d+)": lambda data, at: BrokerIdZNode.encode(BrokerIdZNode.decode(data, STAT, int(at[1]))),
    r"/brokers/topics/([^/]+)": lambda data, at: TopicZNode.encode(TopicZNode.decode(data, STAT, at[1])),
    r"/brokers/topics/([^/]+)/partitions/(\d+)/state": lambda data, at: TopicPartitionStateZNode.encode(
        TopicPartitionStateZNode.decode(data, STAT, TopicPartition(at[1], int(at[2])))
    ),
    r"/config/changes/config_change_\d{10}": lambda data, _: ConfigChangeZNode.encode(ConfigChangeZNode.decode(data)),
    r"/config/((?:topics|clients|users|brokers|ips)/.+)": lambda data, at: ConfigEntityZNode.encode(
        ConfigEntityZNode.decode(data, STAT, at[1])
    ),
    r"/kafka-acl(?:-extended/prefixed)?/[^/]+/.+": lambda data, _: ResourceZNode.encode(ResourceZNode.decode(data)),
    r"/kafka-acl-changes/acl_changes_\d{10}": lambda data, _: AclChangeZNode.encode(
        AclChangeZNode.decode(data, "LITERAL")
    ),
    r"/kafka-acl-extended-changes/acl_changes_\d{10}": lambda data, _: AclChangeZNode.encode(
        AclChangeZNode.decode(data, "PREFIXED")
    ),
    r"/delegation_token/tokens/(.+)": lambda data, at: DelegationTokenZNode.encode(
        DelegationTokenZNode.decode(data, STAT, at[1])
    ),
    r"/delegation_token/token_changes/token_change_\d{10}": lambda data, _: DelegationTokenChangeZNode.encode(
        DelegationTokenChangeZNode.decode(data)
    ),
    r"/log_dir_event_notification/log_dir_event_\d{10}": lambda data, _: LogDirEventNotificationZNode.encode(
        LogDirEventNotificationZNode.decode(data)
    ),
    r"/admin/reassign_partitions": lambda data, _: ReassignPartitionsZNode.encode(ReassignPartitionsZNode.decode(data)),
}


def given(block: ProducerIdBlock | None) -> ProducerIdBlock:
    assert block is not None
    return block


def _meaning(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.stem)
def test_every_znode_of_a_live_cluster_is_read_and_written_back_with_the_same_meaning(tree: Path) -> None:
    seen = 0
    for znode in json.loads(tree.read_text()):
        path, data = znode["path"], znode.get("data")
        if not data or path.startswith("/zookeeper"):
            continue
        matches = [(trip, match) for pattern, trip in ROUND_TRIPS.items() if (match := re.fullmatch(pattern, path))]
        assert len(matches) == 1, f"{path} is declared {len(matches)} times"
        round_trip, match = matches[0]
        written = round_trip(data.encode(), match)
        assert _meaning(written) == _meaning(data.encode()), path
        assert b"\n" not in written and b'": ' not in written
        seen += 1
    assert seen > 1


def test_every_znode_of_the_live_clusters_is_reached_by_its_own_path() -> None:
    assert BrokerIdZNode.path(3) == "/brokers/ids/3"
    assert TopicPartitionStateZNode.path(TopicPartition("a.b", 12)) == "/brokers/topics/a.b/partitions/12/state"
    assert ConfigEntityZNode.path("users/bob/clients/<default>") == "/config/users/bob/clients/<default>"
    assert ResourceZNode.path("PREFIXED", "Topic", "golden-") == "/kafka-acl-extended/prefixed/Topic/golden-"
    assert AclChangeZNode.prefix("LITERAL") == "/kafka-acl-changes/acl_changes_"
    assert ConsumerOffsetZNode.path("g", TopicPartition("t", 0)) == "/consumers/g/offsets/t/0"


def registered(**more: object) -> BrokerRegistration:
    document = {"version": 5, "jmx_port": -1, "timestamp": "7", "endpoints": [], **more}
    return BrokerIdZNode.decode(json.dumps(document).encode(), STAT, 1)


def test_the_broker_epoch_is_the_czxid_of_the_registration() -> None:
    assert registered().epoch == 77


def test_a_registration_of_version_1_has_one_plaintext_endpoint() -> None:
    old = registered(version=1, host="h", port=9092)
    assert old.endpoints == (EndPoint("PLAINTEXT", "PLAINTEXT", "h", 9092),)


def test_a_listener_without_a_map_is_named_after_its_protocol() -> None:
    assert registered(version=2, endpoints=["SSL://h:1"]).endpoints == (EndPoint("SSL", "SSL", "h", 1),)


def test_ipv6_endpoints_stand_in_brackets() -> None:
    endpoint = EndPoint("INTERNAL", "PLAINTEXT", "::1", 9092)
    written = BrokerIdZNode.encode(BrokerRegistration(1, (endpoint,)))
    assert json.loads(written)["endpoints"] == ["INTERNAL://[::1]:9092"]
    assert BrokerIdZNode.decode(written, STAT, 1).endpoints == (endpoint,)


def test_host_and_port_are_those_of_the_first_plaintext_endpoint_else_null() -> None:
    encrypted, plain = EndPoint("S", "SSL", "a", 1), EndPoint("P", "PLAINTEXT", "b", 2)
    both = json.loads(BrokerIdZNode.encode(BrokerRegistration(1, (encrypted, plain))))
    one = json.loads(BrokerIdZNode.encode(BrokerRegistration(1, (encrypted,))))
    assert (both["host"], both["port"]) == ("b", 2)
    assert (one["host"], one["port"]) == (None, -1)


def test_features_of_a_broker_are_kept() -> None:
    features = {"f": (1, 3)}
    written = BrokerIdZNode.encode(BrokerRegistration(1, (), features=features))
    assert BrokerIdZNode.decode(written, STAT, 1).features == features


def test_assignments_of_all_versions_are_read() -> None:
    first = TopicZNode.decode(b'{"version":1,"partitions":{"0":[1,2]}}')
    assert first == TopicAssignment({0: PartitionReplicas((1, 2))})
    moving = TopicZNode.decode(
        b'{"version":3,"partitions":{"0":[2,1]},"adding_replicas":{"0":[2]},"removing_replicas":{"0":[1]},'
        b'"topic_id":"AAAAAAAAAAAAAAAAAAAAAg"}'
    )
    assert moving == TopicAssignment({0: PartitionReplicas((2, 1), (2,), (1,))}, UUID(int=2))


def test_partition_epoch_is_the_version_of_the_state_znode() -> None:
    data = b'{"controller_epoch":1,"leader":-1,"version":1,"leader_epoch":4,"isr":[102]}'
    leadership = TopicPartitionStateZNode.decode(data, STAT, TopicPartition("t", 0))
    assert (leadership.partition_epoch, leadership.leader, leadership.recovery_state) == (5, -1, 0)


def test_recovery_state_is_written_only_while_recovering() -> None:
    data = b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":4,"isr":[1],"leader_recovery_state":1}'
    recovering = TopicPartitionStateZNode.decode(data, STAT, TopicPartition("t", 0))
    assert json.loads(TopicPartitionStateZNode.encode(recovering)) == json.loads(data)


def test_a_controller_of_version_1_has_no_kraft_epoch() -> None:
    assert ControllerZNode.decode(b'{"version":1,"brokerid":3,"timestamp":"9"}', STAT).kraft_controller_epoch == -1


def test_features_of_version_1_carry_their_lowest_level() -> None:
    written = FeatureZNode.encode(FeatureState(features={"f": 3}, version=1))
    assert json.loads(written)["features"] == {"f": {"min_version_level": 1, "max_version_level": 3}}
    assert FeatureZNode.decode(written) == FeatureState(features={"f": 3}, version=1)


def test_there_is_no_producer_id_block_before_the_first_one() -> None:
    assert ProducerIdBlockZNode.decode(None) is None
    assert ProducerIdBlockZNode.decode(b"") is None


def test_notices_of_version_1_name_topics_and_clients() -> None:
    notice = b'{"version":1,"entity_type":"topics","entity_name":"t"}'
    assert ConfigChangeZNode.decode(notice) == "topics/t"


def test_a_parent_without_data_has_no_overrides() -> None:
    assert ConfigEntityZNode.decode(None, STAT, "users/bob") == {}


def test_partition_lists_are_written_as_the_old_tools_write_them() -> None:
    topic_partition = TopicPartition("t", 3)
    assert ReassignPartitionsZNode.decode(ReassignPartitionsZNode.encode({topic_partition: (1, 2)})) == {
        topic_partition: (1, 2)
    }
    assert PreferredReplicaElectionZNode.decode(PreferredReplicaElectionZNode.encode([topic_partition])) == [
        topic_partition
    ]
    assert IsrChangeNotificationZNode.decode(IsrChangeNotificationZNode.encode([topic_partition])) == [topic_partition]
    assert json.loads(PreferredReplicaElectionZNode.encode([topic_partition])) == {
        "version": 1,
        "partitions": [{"topic": "t", "partition": 3}],
    }


BAD = [b"", b"{", b"[]", b"null", b'{"version":9}', b'{"version":"x"}', b"\xff", b'{"version":5,"endpoints":7}']


@pytest.mark.parametrize("data", BAD)
@pytest.mark.parametrize(
    "decode",
    [
        ClusterIdZNode.decode,
        ControllerZNode.decode,
        ControllerEpochZNode.decode,
        FeatureZNode.decode,
        ConfigChangeZNode.decode,
        ReassignPartitionsZNode.decode,
        PreferredReplicaElectionZNode.decode,
        LogDirEventNotificationZNode.decode,
        DelegationTokenZNode.decode,
        lambda data: BrokerIdZNode.decode(data, STAT, 1),
        lambda data: TopicPartitionStateZNode.decode(data, STAT, TopicPartition("t", 0)),
    ],
)
def test_bad_data_are_one_error(decode: Callable[[bytes], object], data: bytes) -> None:
    with pytest.raises(MalformedZNode):
        decode(data)


REGISTRATION = {"version": 5, "jmx_port": -1, "timestamp": "1", "endpoints": ["PLAINTEXT://h:1"], "rack": "r"}
STATE = {"version": 1, "leader": 1, "leader_epoch": 1, "controller_epoch": 1, "isr": [1]}


@pytest.mark.parametrize(
    "changed",
    [
        {"rack": 5},
        {"rack": "\ud800"},
        {"rack": "r" * 32_768},
        {"endpoints": ["PLAINTEXT://" + "h" * 32_768 + ":1"]},
        {"version": 1, "host": "h" * 32_768, "port": 1},
        {
            "endpoints": ["\u0390" * 16_000 + "://h:1"],
            "listener_security_protocol_map": {"\u0390".upper() * 16_000: "PLAINTEXT"},
        },
        {"endpoints": ["PLAINTEXT://h:99999999999"]},
        {"endpoints": ["ODD://h:1"]},
        {"listener_security_protocol_map": {"PLAINTEXT": "ODD"}},
    ],
)
def test_a_registration_that_no_request_can_hold_is_malformed(changed: dict[str, object]) -> None:
    """Else the controller's requests to all brokers could not be written."""
    assert BrokerIdZNode.decode(json.dumps(REGISTRATION).encode(), STAT, 1).rack == "r"
    with pytest.raises(MalformedZNode):
        BrokerIdZNode.decode(json.dumps({**REGISTRATION, **changed}).encode(), STAT, 1)


def test_a_broker_id_of_more_than_32_bits_is_none() -> None:
    assert BrokerIdsZNode.ids(["2147483647", "2147483648", "7"]) == [7, 2147483647]


@pytest.mark.parametrize(
    "changed",
    [
        {"leader_epoch": 2**31},
        {"leader_epoch": 2**31 - 1},
        {"controller_epoch": 2**40},
        {"isr": [2**31]},
        {"leader_recovery_state": 2},
    ],
)
def test_a_state_that_no_request_can_hold_is_malformed(changed: dict[str, object]) -> None:
    with pytest.raises(MalformedZNode):
        TopicPartitionStateZNode.decode(json.dumps({**STATE, **changed}).encode(), STAT, TopicPartition("t", 0))


@pytest.mark.parametrize("partitions", [{"0": [2**31]}, {"2147483648": [1]}, {"-1": [1]}])
def test_an_assignment_that_no_request_can_hold_is_malformed(partitions: dict[str, list[int]]) -> None:
    with pytest.raises(MalformedZNode):
        TopicZNode.decode(json.dumps({"version": 1, "partitions": partitions}).encode())


def test_a_topic_whose_name_no_request_can_hold_is_malformed() -> None:
    data = b'{"version":1,"partitions":{"0":[1]}}'
    TopicZNode.decode(data, None, "x" * 32_767)
    with pytest.raises(MalformedZNode):
        TopicZNode.decode(data, None, "x" * 32_768)


@pytest.mark.parametrize(("data", "offset"), [(b"-5", -5), (b"--5", None), (b"9" * 19, None), (b"9" * 5_000, None)])
def test_an_old_offset_that_no_answer_can_hold_is_none(data: bytes, offset: int | None) -> None:
    assert ConsumerOffsetZNode.decode(data) == offset
