"""What clients with few rights are told: a request of every API, about what is hidden, missing and open to them.

Everybody is User:ANONYMOUS, and rights differ by host: ADMIN (the brokers, too) may do everything, NOBODY nothing, and
FRIEND what RULES say about `open` and what begins with `op`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from kafka_zk.protocol.acl import CLUSTER_NAME
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages import (
    allocate_producer_ids,
    alter_client_quotas,
    alter_configs,
    alter_partition,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    alter_user_scram_credentials,
    controlled_shutdown,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_records,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_user_scram_credentials,
    elect_leaders,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leader_and_isr,
    leave_group,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    stop_replica,
    sync_group,
    update_features,
    update_metadata,
)
from kafka_zk.record.builder import build_batch
from kafka_zk.record.types import Record
from kafka_zk.zk.znodes.access import AclEntry
from tests.interop.replay import groups
from tests.interop.replay.scenario import Exchange, World

ADMIN, NOBODY, FRIEND = "127.0.0.1", "127.0.0.2", "127.0.0.3"
TOPICS = ("forbidden", "not-there", "open")
GROUPS = ("g-forbidden", "g-open")
UNKNOWN_ID = UUID(int=77)
NOW_MS = int(time.time() * 1000)


def allow(host: str, *operations: str) -> list[AclEntry]:
    return [AclEntry("User:ANONYMOUS", "Allow", host, operation) for operation in operations]


RULES: dict[tuple[str, str, str], list[AclEntry]] = {
    ("LITERAL", "Topic", "*"): allow(ADMIN, "All"),
    ("LITERAL", "Group", "*"): allow(ADMIN, "All"),
    ("LITERAL", "TransactionalId", "*"): allow(ADMIN, "All"),
    ("LITERAL", "Cluster", CLUSTER_NAME): allow(ADMIN, "All"),
    ("PREFIXED", "Topic", "op"): allow(FRIEND, "Read", "Write", "DescribeConfigs", "Alter", "AlterConfigs"),
    ("LITERAL", "Topic", "open"): [AclEntry("User:*", "Deny", FRIEND, "Delete"), *allow(FRIEND, "Delete")],
    ("LITERAL", "Group", "g-open"): allow(FRIEND, "Read", "Delete"),
}

HASHED = frozenset({"responses", "resources", "acls", "matching_acls", "replica_election_results"})
"""Lists that Apache fills from hash maps."""

Build = Callable[[int], Any]


def one_record(*, transactional: bool = False) -> bytearray:
    record = Record(0, NOW_MS, None, b"x", [])
    producer = {"producer_id": 4000, "producer_epoch": 0, "base_sequence": 0} if transactional else {}
    return build_batch([record], transactional=transactional, **producer)


# --- requests, by version --------------------------------------------------------------------------------------------


def asked_metadata(names: Sequence[str] | None, *, creates: bool = False) -> Build:
    def build(version: int) -> Any:
        given: dict[str, Any] = {}
        if version >= 4:
            given["allow_auto_topic_creation"] = creates
        if version >= 8:
            given["include_topic_authorized_operations"] = True
        if 8 <= version <= 10:
            given["include_cluster_authorized_operations"] = True
        wanted = None if names is None else [metadata.MetadataRequestTopic(name=name) for name in names]
        return metadata.MetadataRequest(topics=[] if wanted is None and version == 0 else wanted, **given)

    return build


def metadata_by_id(world: World, version: int) -> Any:
    ids = [world.remembered["ids"]["forbidden"], world.remembered["ids"]["open"], UNKNOWN_ID]
    return metadata.MetadataRequest(
        topics=[metadata.MetadataRequestTopic(name=None, topic_id=each) for each in ids],
        allow_auto_topic_creation=False,
    )


def produced(*, transactional: bool = False) -> Build:
    def build(version: int) -> Any:
        return produce.ProduceRequest(
            acks=1,
            timeout_ms=5000,
            topic_data=[
                produce.TopicProduceData(
                    name=name,
                    partition_data=[
                        produce.PartitionProduceData(
                            index=0, records=one_record(transactional=transactional and name == TOPICS[-1])
                        )
                    ],
                )
                for name in TOPICS
            ],
        )

    return build


def fetched(replica: int = -1) -> Callable[[World, int], Any]:
    def build(world: World, version: int) -> Any:
        given: dict[str, Any] = {}
        if version < 15:
            given["replica_id"] = replica
        elif replica >= 0:
            given["replica_state"] = fetch.ReplicaState(replica_id=replica, replica_epoch=-1)
        if version >= 7:
            given["session_epoch"] = -1
        partitions = [fetch.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1)]
        topics = [fetch.FetchTopic(topic=name, partitions=partitions) for name in TOPICS]
        if version >= 13:
            ids = [world.remembered["ids"]["forbidden"], UNKNOWN_ID, world.remembered["ids"]["open"]]
            topics = [fetch.FetchTopic(topic_id=each, partitions=partitions) for each in ids]
        return fetch.FetchRequest(max_wait_ms=0, min_bytes=0, topics=topics, **given)

    return build


def listed_offsets(version: int) -> Any:
    wanted = [list_offsets.ListOffsetsPartition(partition_index=0, timestamp=-2)]
    return list_offsets.ListOffsetsRequest(
        topics=[list_offsets.ListOffsetsTopic(name=name, partitions=wanted) for name in TOPICS]
    )


def epoch_ends(version: int) -> Any:
    wanted = [offset_for_leader_epoch.OffsetForLeaderPartition(partition=0, leader_epoch=0)]
    return offset_for_leader_epoch.OffsetForLeaderEpochRequest(
        topics=[offset_for_leader_epoch.OffsetForLeaderTopic(topic=name, partitions=wanted) for name in TOPICS]
    )


def committed(group: str) -> Build:
    def build(version: int) -> Any:
        wanted = [offset_commit.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)]
        return offset_commit.OffsetCommitRequest(
            group_id=group,
            topics=[offset_commit.OffsetCommitRequestTopic(name=name, partitions=wanted) for name in TOPICS],
        )

    return build


def fetched_offsets(everything: bool) -> Build:
    def build(version: int) -> Any:
        if version < 8:
            topics = [offset_fetch.OffsetFetchRequestTopic(name=name, partition_indexes=[0]) for name in TOPICS]
            return offset_fetch.OffsetFetchRequest(group_id="g-open", topics=None if everything else topics)
        wanted = [offset_fetch.OffsetFetchRequestTopics(name=name, partition_indexes=[0]) for name in TOPICS]
        return offset_fetch.OffsetFetchRequest(
            groups=[
                offset_fetch.OffsetFetchRequestGroup(group_id=group, topics=None if everything else wanted)
                for group in GROUPS
            ]
        )

    return build


def found_coordinators(key_type: int, keys: Sequence[str]) -> Build:
    def build(version: int) -> Any:
        given: dict[str, Any] = {} if version == 0 else {"key_type": key_type}
        if version < 4:
            return find_coordinator.FindCoordinatorRequest(key=keys[0], **given)
        return find_coordinator.FindCoordinatorRequest(coordinator_keys=list(keys), **given)

    return build


def created_topics(*names: str) -> Build:
    def build(version: int) -> Any:
        return create_topics.CreateTopicsRequest(
            topics=[create_topics.CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names],
            timeout_ms=5000,
        )

    return build


def deleted_topics(version: int) -> Any:
    if version < 6:
        return delete_topics.DeleteTopicsRequest(topic_names=list(TOPICS), timeout_ms=5000)
    return delete_topics.DeleteTopicsRequest(
        topics=[delete_topics.DeleteTopicState(name=name) for name in TOPICS], timeout_ms=5000
    )


def deleted_by_id(world: World, version: int) -> Any:
    ids = [world.remembered["ids"]["forbidden"], UNKNOWN_ID, world.remembered["ids"]["open"]]
    return delete_topics.DeleteTopicsRequest(
        topics=[delete_topics.DeleteTopicState(name=None, topic_id=each) for each in ids], timeout_ms=5000
    )


CONFIGURED = ((2, "forbidden"), (2, "not-there"), (2, "open"), (4, "0"), (8, "0"), (4, ""))
"""Types and names of config resources: topics, the broker, its loggers, all brokers."""


def described_configs(version: int) -> Any:
    return describe_configs.DescribeConfigsRequest(
        resources=[
            describe_configs.DescribeConfigsResource(
                resource_type=kind, resource_name=name, configuration_keys=["retention.ms"]
            )
            for kind, name in CONFIGURED
        ]
    )


def altered(kinds: Sequence[tuple[int, str]], key: str, value: str) -> Build:
    def build(version: int) -> Any:
        return alter_configs.AlterConfigsRequest(
            resources=[
                alter_configs.AlterConfigsResource(
                    resource_type=kind,
                    resource_name=name,
                    configs=[alter_configs.AlterableConfig(name=key, value=value)],
                )
                for kind, name in kinds
            ],
            validate_only=True,
        )

    return build


def altered_singly(kinds: Sequence[tuple[int, str]], key: str, value: str, *, only_checked: bool = True) -> Build:
    def build(version: int) -> Any:
        return incremental_alter_configs.IncrementalAlterConfigsRequest(
            resources=[
                incremental_alter_configs.AlterConfigsResource(
                    resource_type=kind,
                    resource_name=name,
                    configs=[incremental_alter_configs.AlterableConfig(name=key, config_operation=0, value=value)],
                )
                for kind, name in kinds
            ],
            validate_only=only_checked,
        )

    return build


def acl_filter(
    kind: type[Any], version: int, name: str | None = None, resource_type: int = 1, operation: int = 1
) -> Any:
    given: dict[str, Any] = {} if version == 0 else {"pattern_type_filter": 1}
    return kind(
        resource_type_filter=resource_type,
        resource_name_filter=name,
        principal_filter=None,
        host_filter=None,
        operation=operation,
        permission_type=1,
        **given,
    )


def created_acl(resource_type: int, name: str, principal: str = "User:x", operation: int = 3, pattern: int = 3) -> Any:
    return create_acls.AclCreation(
        resource_type=resource_type,
        resource_name=name,
        resource_pattern_type=pattern,
        principal=principal,
        host="*",
        operation=operation,
        permission_type=3,
    )


def created_acls(*creations: Any) -> Build:
    def build(version: int) -> Any:
        return create_acls.CreateAclsRequest(creations=list(creations))

    return build


def each_group(make: Callable[[str], Any]) -> dict[str, Build]:
    return {group: (lambda version, group=group: make(group)) for group in GROUPS}


def described_quotas(version: int) -> Any:
    return describe_client_quotas.DescribeClientQuotasRequest(
        components=[describe_client_quotas.ComponentData(entity_type="user", match_type=2, match=None)]
    )


def altered_quotas(version: int) -> Any:
    return alter_client_quotas.AlterClientQuotasRequest(
        entries=[
            alter_client_quotas.RequestEntryData(
                entity=[alter_client_quotas.EntityData(entity_type="user", entity_name="x")],
                ops=[alter_client_quotas.OpData(key="producer_byte_rate", value=1.0, remove=False)],
            )
        ],
        validate_only=True,
    )


# --- the scenario ----------------------------------------------------------------------------------------------------


def keep_ids(world: World, answer: Any) -> None:
    world.remembered["ids"] = {topic.name: topic.topic_id for topic in answer.topics}


def asked(
    name: str,
    message: Message[Any],
    build: Build,
    versions: Sequence[int] = (),
    hosts: Sequence[str] = (NOBODY, FRIEND),
) -> list[Exchange]:
    """The same request from several hosts."""
    return [
        Exchange(
            f"{name} from {host}",
            message,
            lambda _, version: build(version),
            versions,
            unordered=HASHED,
            own_host=host,
        )
        for host in hosts
    ]


def asked_of(
    name: str, message: Message[Any], build: Callable[[World, int], Any], versions: Sequence[int]
) -> list[Any]:
    return [
        Exchange(f"{name} from {host}", message, build, versions, unordered=HASHED, own_host=host)
        for host in (NOBODY, FRIEND)
    ]


def request_of(key: int) -> Message[Any]:
    return API_TABLE[key].request


PREPARED: tuple[Exchange, ...] = (
    Exchange("topics", request_of(19), lambda _, v: created_topics("forbidden", "open")(v), (7,)),
    Exchange(
        "ids",
        request_of(3),
        lambda _, v: metadata.MetadataRequest(
            topics=[metadata.MetadataRequestTopic(name=name) for name in ("forbidden", "open")]
        ),
        (12,),
        keep=keep_ids,
    ),
    # Afterwards: requests about all topics are told of __consumer_offsets, too, and so is the audit log.
    Exchange("a coordinator", request_of(10), groups.find_once_created, (6,)),
    Exchange(
        "audit",
        request_of(44),
        lambda _, v: altered_singly([(8, "0")], "kafka.authorizer.logger", "TRACE", only_checked=False)(v),
        (1,),
    ),
)

SESSION: tuple[Exchange, ...] = (
    *asked("metadata by name", request_of(3), asked_metadata(TOPICS)),
    *asked("metadata of all", request_of(3), asked_metadata(None)),
    *asked("metadata that creates", request_of(3), asked_metadata(["op-new"], creates=True), (4, 12)),
    *asked_of("metadata by id", request_of(3), metadata_by_id, (12,)),
    *asked("produce", request_of(0), produced(), range(3, 12)),
    *asked("produce in a transaction without an id", request_of(0), produced(transactional=True), range(3, 12)),
    *asked_of("fetch", request_of(1), fetched(), range(4, 18)),
    *asked_of("fetch as a replica", request_of(1), fetched(replica=1), range(4, 18)),
    *asked("list offsets", request_of(2), listed_offsets),
    *asked("epoch ends", request_of(23), epoch_ends),
    *asked("commit for a forbidden group", request_of(8), committed("g-forbidden"), range(1, 10)),
    *asked("commit", request_of(8), committed("g-open"), range(1, 10)),
    *asked("fetch offsets", request_of(9), fetched_offsets(everything=False), range(1, 10)),
    *asked("fetch all offsets", request_of(9), fetched_offsets(everything=True), range(2, 10)),
    *asked("find group coordinator", request_of(10), found_coordinators(0, ["g-forbidden", "g-open"])),
    *asked("find transaction coordinator", request_of(10), found_coordinators(1, ["x"]), range(1, 7), (NOBODY,)),
    *(
        exchange
        for group in GROUPS
        for exchange in (
            *asked(
                f"join {group}",
                request_of(11),
                lambda v, g=group: join_group.JoinGroupRequest(
                    group_id=g, session_timeout_ms=1, member_id="m", protocol_type="consumer"
                ),
            ),
            *asked(
                f"sync {group}",
                request_of(14),
                lambda v, g=group: sync_group.SyncGroupRequest(group_id=g, member_id="m", generation_id=1),
                range(5),
            ),
            *asked(
                f"heartbeat {group}",
                request_of(12),
                lambda v, g=group: heartbeat.HeartbeatRequest(group_id=g, member_id="m", generation_id=1),
            ),
            *asked(
                f"leave {group}",
                request_of(13),
                lambda v, g=group: leave_group.LeaveGroupRequest(group_id=g, member_id="m"),
                range(3),
            ),
            *asked(
                f"delete offsets of {group}",
                request_of(47),
                lambda v, g=group: offset_delete.OffsetDeleteRequest(
                    group_id=g,
                    topics=[
                        offset_delete.OffsetDeleteRequestTopic(
                            name=name, partitions=[offset_delete.OffsetDeleteRequestPartition(partition_index=0)]
                        )
                        for name in TOPICS
                    ],
                ),
            ),
        )
    ),
    *asked(
        "describe groups",
        request_of(15),
        lambda v: describe_groups.DescribeGroupsRequest(
            groups=list(GROUPS), **({"include_authorized_operations": True} if v >= 3 else {})
        ),
    ),
    *asked("list groups", request_of(16), lambda v: list_groups.ListGroupsRequest()),
    *asked(
        "create topics",
        request_of(19),
        created_topics("c-forbidden", "op-created", "op-twice", "op-twice"),
        range(1, 8),
    ),
    *asked(
        "create partitions",
        request_of(37),
        lambda v: create_partitions.CreatePartitionsRequest(
            topics=[create_partitions.CreatePartitionsTopic(name=name, count=3, assignments=None) for name in TOPICS],
            timeout_ms=5000,
            validate_only=True,
        ),
    ),
    *asked(
        "delete records",
        request_of(21),
        lambda v: delete_records.DeleteRecordsRequest(
            topics=[
                delete_records.DeleteRecordsTopic(
                    name=name, partitions=[delete_records.DeleteRecordsPartition(partition_index=0, offset=0)]
                )
                for name in TOPICS
            ],
            timeout_ms=5000,
        ),
    ),
    *asked("delete topics", request_of(20), deleted_topics),
    *asked_of("delete topics by id", request_of(20), deleted_by_id, (6,)),
    *asked(
        "new producer",
        request_of(22),
        lambda v: init_producer_id.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000),
        hosts=(NOBODY,),
    ),
    *asked(
        "new transactional producer",
        request_of(22),
        lambda v: init_producer_id.InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=1000),
        hosts=(NOBODY,),
    ),
    *asked("describe configs", request_of(32), described_configs),
    *asked("alter configs", request_of(33), altered(CONFIGURED[:4], "retention.ms", "1000")),
    *asked("alter single configs", request_of(44), altered_singly(CONFIGURED, "retention.ms", "1000")),
    *asked(
        "elect",
        request_of(43),
        lambda v: elect_leaders.ElectLeadersRequest(
            topic_partitions=[elect_leaders.TopicPartitions(topic=name, partitions=[0]) for name in TOPICS],
            timeout_ms=1000,
        ),
    ),
    *asked(
        "reassign",
        request_of(45),
        lambda v: alter_partition_reassignments.AlterPartitionReassignmentsRequest(
            topics=[
                alter_partition_reassignments.ReassignableTopic(
                    name="open",
                    partitions=[alter_partition_reassignments.ReassignablePartition(partition_index=0, replicas=[0])],
                )
            ]
        ),
    ),
    *asked(
        "list reassignments",
        request_of(46),
        lambda v: list_partition_reassignments.ListPartitionReassignmentsRequest(topics=None),
    ),
    *asked(
        "move replicas",
        request_of(34),
        lambda v: alter_replica_log_dirs.AlterReplicaLogDirsRequest(
            dirs=[
                alter_replica_log_dirs.AlterReplicaLogDir(
                    path="/x", topics=[alter_replica_log_dirs.AlterReplicaLogDirTopic(name="open", partitions=[0])]
                )
            ]
        ),
    ),
    *asked("log dirs", request_of(35), lambda v: describe_log_dirs.DescribeLogDirsRequest(topics=None)),
    *asked("features", request_of(57), lambda v: update_features.UpdateFeaturesRequest(feature_updates=[])),
    *asked(
        "describe cluster",
        request_of(60),
        lambda v: describe_cluster.DescribeClusterRequest(include_cluster_authorized_operations=True),
        hosts=(NOBODY, FRIEND, ADMIN),
    ),
    *asked(
        "describe producers",
        request_of(61),
        lambda v: describe_producers.DescribeProducersRequest(
            topics=[describe_producers.TopicRequest(name=name, partition_indexes=[0]) for name in (*TOPICS, "a/b")]
        ),
    ),
    *asked("describe quotas", request_of(48), described_quotas),
    *asked("alter quotas", request_of(49), altered_quotas),
    *asked(
        "describe users",
        request_of(50),
        lambda v: describe_user_scram_credentials.DescribeUserScramCredentialsRequest(users=None),
    ),
    *asked(
        "alter users",
        request_of(51),
        lambda v: alter_user_scram_credentials.AlterUserScramCredentialsRequest(
            deletions=[alter_user_scram_credentials.ScramCredentialDeletion(name="x", mechanism=1)]
        ),
    ),
    *asked(
        "describe acls",
        request_of(29),
        lambda v: acl_filter(describe_acls.DescribeAclsRequest, v),
        hosts=(NOBODY, ADMIN),
    ),
    *asked("create acls", request_of(30), created_acls(created_acl(2, "t")), hosts=(NOBODY,)),
    *asked(
        "delete acls",
        request_of(31),
        lambda v: delete_acls.DeleteAclsRequest(filters=[acl_filter(delete_acls.DeleteAclsFilter, v, "nothing")]),
        hosts=(NOBODY, ADMIN),
    ),
    *asked(
        "leader and isr",
        request_of(4),
        lambda v: leader_and_isr.LeaderAndIsrRequest(controller_id=0, controller_epoch=0),
        range(8),
        (NOBODY,),
    ),
    *asked(
        "stop replica",
        request_of(5),
        lambda v: stop_replica.StopReplicaRequest(controller_id=0, controller_epoch=0),
        range(5),
        (NOBODY,),
    ),
    *asked(
        "update metadata",
        request_of(6),
        lambda v: update_metadata.UpdateMetadataRequest(controller_id=0, controller_epoch=0),
        range(9),
        (NOBODY,),
    ),
    *asked(
        "controlled shutdown",
        request_of(7),
        lambda v: controlled_shutdown.ControlledShutdownRequest(broker_id=0),
        range(4),
        (NOBODY,),
    ),
    *asked(
        "alter partition", request_of(56), lambda v: alter_partition.AlterPartitionRequest(broker_id=0), hosts=(NOBODY,)
    ),
    *asked(
        "producer ids",
        request_of(67),
        lambda v: allocate_producer_ids.AllocateProducerIdsRequest(broker_id=0),
        hosts=(NOBODY,),
    ),
)

ACLS: tuple[Exchange, ...] = (
    *asked(
        "acls of every kind",
        request_of(30),
        created_acls(
            created_acl(2, "kept"),
            created_acl(2, "kept", operation=8),
            created_acl(3, "kept-group", principal="User:CN=a,O=b"),
            created_acl(4, "kafka-cluster", operation=9),
            created_acl(4, "my-cluster"),
            created_acl(2, ""),
            created_acl(2, "a/b"),
            created_acl(2, "bad", principal="nobody"),
            created_acl(2, "bad"),
            created_acl(5, "txn"),
            created_acl(7, "User:x", operation=13),
        ),
        hosts=(ADMIN,),
    ),
    *asked("a prefix", request_of(30), created_acls(created_acl(2, "pre", pattern=4)), range(1, 4), (ADMIN,)),
    *asked("any operation", request_of(30), created_acls(created_acl(2, "t", operation=1)), hosts=(ADMIN,)),
    *asked("any resource", request_of(30), created_acls(created_acl(1, "t")), hosts=(ADMIN,)),
    *asked("an unknown operation", request_of(30), created_acls(created_acl(2, "t", operation=99)), hosts=(ADMIN,)),
    *asked("an unknown type", request_of(30), created_acls(created_acl(0, "t")), hosts=(ADMIN,)),
    *asked("an odd type", request_of(30), created_acls(created_acl(99, "t")), hosts=(ADMIN,)),
    *(
        exchange
        for kind, operation in ((99, 1), (0, 1), (1, 99), (1, 0))
        for exchange in (
            *asked(
                f"describe {kind} {operation}",
                request_of(29),
                lambda v, k=kind, o=operation: acl_filter(describe_acls.DescribeAclsRequest, v, "odd", k, o),
                (0, 3),
                (ADMIN,),
            ),
            *asked(
                f"delete {kind} {operation}",
                request_of(31),
                lambda v, k=kind, o=operation: delete_acls.DeleteAclsRequest(
                    filters=[acl_filter(delete_acls.DeleteAclsFilter, v, "odd", k, o)]
                ),
                (0, 3),
                (ADMIN,),
            ),
        )
    ),
    *asked("a matching pattern", request_of(30), created_acls(created_acl(2, "t", pattern=2)), range(1, 4), (ADMIN,)),
    *asked("all acls", request_of(29), lambda v: acl_filter(describe_acls.DescribeAclsRequest, v), hosts=(ADMIN,)),
    *asked(
        "delete some",
        request_of(31),
        lambda v: delete_acls.DeleteAclsRequest(
            filters=[
                acl_filter(delete_acls.DeleteAclsFilter, v, "kept"),
                acl_filter(delete_acls.DeleteAclsFilter, v, "pre"),
                acl_filter(delete_acls.DeleteAclsFilter, v, "a/b"),
            ]
        ),
        (3,),
        (ADMIN,),
    ),
    *asked("acls left", request_of(29), lambda v: acl_filter(describe_acls.DescribeAclsRequest, v), (3,), (ADMIN,)),
)
