"""Metadata and the topic requests: good cases and every error that one broker can give."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kafka_zk.protocol.messages.create_partitions import (
    CREATE_PARTITIONS_REQUEST,
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafka_zk.protocol.messages.create_topics import (
    CREATE_TOPICS_REQUEST,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafka_zk.protocol.messages.delete_topics import DELETE_TOPICS_REQUEST, DeleteTopicsRequest, DeleteTopicState
from kafka_zk.protocol.messages.describe_cluster import DESCRIBE_CLUSTER_REQUEST, DescribeClusterRequest
from kafka_zk.protocol.messages.list_partition_reassignments import (
    LIST_PARTITION_REASSIGNMENTS_REQUEST,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest, MetadataRequestTopic
from kafka_zk.protocol.types import NULL_UUID
from tests.interop.replay.scenario import Exchange, World

TIMEOUT_MS = 20_000
NOBODYS_ID = UUID(int=0x1234_5678_9ABC_4DEF_8123_456789ABCDEF)


def create(name: str, topic: CreatableTopic, versions: range = range(8), *, timeout_ms: int = TIMEOUT_MS) -> Exchange:
    """Creates the topic, its name followed by the version."""

    def build(world: World, version: int) -> CreateTopicsRequest:
        named = CreatableTopic(
            name=topic.name.replace("%", str(version)),
            num_partitions=topic.num_partitions,
            replication_factor=topic.replication_factor,
            assignments=topic.assignments,
            configs=topic.configs,
        )
        return CreateTopicsRequest(topics=[named], timeout_ms=timeout_ms)

    return Exchange(f"create: {name}", CREATE_TOPICS_REQUEST, build, versions)


def assignments(*replicas: list[int]) -> list[CreatableReplicaAssignment]:
    return [CreatableReplicaAssignment(partition_index=i, broker_ids=r) for i, r in enumerate(replicas)]


def topic(name: str, partitions: int = 1, factor: int = 1, **more: Any) -> CreatableTopic:
    configs = [CreatableTopicConfig(name=k, value=v) for k, v in more.pop("configs", {}).items()]
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=factor, configs=configs, **more)


def metadata(name: str, topics: list[str] | None, versions: range = range(13), **flags: bool) -> Exchange:
    def build(world: World, version: int) -> MetadataRequest:
        asked = None if topics is None else [MetadataRequestTopic(name=t.replace("%", str(version))) for t in topics]
        supported = {
            "allow_auto_topic_creation": version >= 4,
            "include_cluster_authorized_operations": 8 <= version <= 10,
            "include_topic_authorized_operations": version >= 8,
        }
        return MetadataRequest(topics=asked, **{k: v for k, v in flags.items() if supported[k]})

    return Exchange(f"metadata: {name}", METADATA_REQUEST, build, versions)


def remember_id(topic_name: str) -> Any:
    def keep(world: World, answer: Any) -> None:
        world.remembered[topic_name] = answer.topics[0].topic_id

    return keep


EXCHANGES = (
    create("one topic", topic("plain-%", 2)),
    create("configs", topic("configs-%", configs={"retention.ms": "3600000", "cleanup.policy": "compact"})),
    create("by hand", topic("hand-%", -1, -1, assignments=assignments([0], [0], [0]))),
    create("broker defaults", topic("defaults-%", -1, -1)),
    create("exists already", topic("plain-%", 2)),
    create("an empty name", topic("")),
    create("a dot", topic(".")),
    create("two dots", topic("..")),
    create("a name of 250 letters", topic("x" * 250)),
    create("an illegal character", topic("with space-%")),
    create("a colliding name", topic("plain_%".replace("-", "_"))),
    create("no partitions", topic("none-%", 0)),
    create("minus two partitions", topic("none-%", -2)),
    create("no replicas", topic("none-%", 1, 0)),
    create("minus two replicas", topic("none-%", 1, -2)),
    create("more replicas than brokers", topic("none-%", 1, 3)),
    create("an unknown config", topic("none-%", configs={"no.such.config": "1"})),
    create("a wrong config value", topic("none-%", configs={"retention.ms": "soon"})),
    create("a config value out of range", topic("none-%", configs={"segment.bytes": "3"})),
    create("a null config", topic("none-%", configs={"retention.ms": None})),
    create(
        "several wrong configs",
        topic("none-%", configs={"compression.type": "", "cleanup.policy": "x", "segment.bytes": "1", "flush.ms": "x"}),
    ),
    create("a null config and counts", topic("none-%", 1, 1, assignments=assignments([0]), configs={"flush.ms": None})),
    Exchange(
        "create: a config twice, once null",
        CREATE_TOPICS_REQUEST,
        lambda world, version: CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name="none",
                    num_partitions=1,
                    replication_factor=1,
                    configs=[CreatableTopicConfig(name="flush.ms", value=value) for value in (None, "5")],
                )
            ],
            timeout_ms=TIMEOUT_MS,
        ),
    ),
    create(
        "a conflict of configs", topic("none-%", configs={"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "4"})
    ),
    create("counts and assignment", topic("none-%", 1, 1, assignments=assignments([0]))),
    create("an assignment with a repeated broker", topic("none-%", -1, -1, assignments=assignments([0, 0]))),
    create("an uneven assignment", topic("none-%", -1, -1, assignments=assignments([0], [0, 1]))),
    create(
        "an assignment with a hole",
        topic("none-%", -1, -1, assignments=[CreatableReplicaAssignment(partition_index=1, broker_ids=[0])]),
    ),
    create("the metadata topic", topic("__cluster_metadata")),
    create("without time", topic("hurry-%"), timeout_ms=0),
    Exchange(
        "create: twice in one request",
        CREATE_TOPICS_REQUEST,
        lambda world, version: CreateTopicsRequest(
            topics=[topic("twice"), topic("twice"), topic(f"once-{version}")], timeout_ms=TIMEOUT_MS
        ),
    ),
    Exchange(
        "create: validate only",
        CREATE_TOPICS_REQUEST,
        lambda world, version: CreateTopicsRequest(
            topics=[topic("valid", 3), topic("in valid")], timeout_ms=TIMEOUT_MS, validate_only=True
        ),
        range(1, 8),
    ),
    metadata("one topic", ["plain-%"], range(8)),
    metadata("operations", ["plain-1"], range(8, 13), include_topic_authorized_operations=True),
    metadata("cluster operations", ["plain-1"], range(8, 11), include_cluster_authorized_operations=True),
    metadata("unknown, not to be created", ["unknown"], range(4, 13), allow_auto_topic_creation=False),
    metadata("unknown, to be created", ["auto-%"]),
    metadata("an illegal name", ["il legal"]),
    metadata("an illegal name, not to be created", ["il legal"], range(4, 13), allow_auto_topic_creation=False),
    metadata("an empty name", [""]),
    metadata("no topics", [], range(1, 13)),
    metadata("several", ["plain-1", "nothing", "plain-2"], range(4, 13), allow_auto_topic_creation=False),
    Exchange(
        "metadata: for its id",
        METADATA_REQUEST,
        lambda w, v: MetadataRequest(topics=[MetadataRequestTopic(name="plain-0")]),
        [12],
        keep=remember_id("plain-0"),
    ),
    Exchange(
        "metadata: by id",
        METADATA_REQUEST,
        lambda w, v: MetadataRequest(topics=[MetadataRequestTopic(topic_id=w.remembered["plain-0"], name=None)]),
        range(10, 13),
    ),
    Exchange(
        "metadata: by an unknown id",
        METADATA_REQUEST,
        lambda w, v: MetadataRequest(topics=[MetadataRequestTopic(topic_id=NOBODYS_ID, name=None)]),
        range(10, 13),
    ),
    Exchange(
        "metadata: a null name",
        METADATA_REQUEST,
        lambda w, v: MetadataRequest(topics=[MetadataRequestTopic(name=None)]),
        range(10, 13),
    ),
    *(
        Exchange(
            f"grow: {name}",
            CREATE_PARTITIONS_REQUEST,
            lambda world, version, t=t, v=validate: CreatePartitionsRequest(
                topics=[CreatePartitionsTopic(name=t[0].replace("%", str(version)), count=t[1], assignments=t[2])],
                timeout_ms=t[3] if len(t) > 3 else TIMEOUT_MS,
                validate_only=v,
            ),
        )
        for name, t, validate in (
            ("validate only", ("plain-%", 4, None), True),
            ("to four", ("plain-%", 4, None), False),
            ("to four again", ("plain-%", 4, None), False),
            ("to fewer", ("plain-%", 1, None), False),
            ("to none", ("plain-%", 0, None), False),
            ("an unknown topic", ("unknown", 4, None), False),
            ("an empty name", ("", 4, None), False),
            ("by hand", ("plain-%", 5, [CreatePartitionsAssignment(broker_ids=[0])]), False),
            ("by hand, a dead broker", ("plain-%", 6, [CreatePartitionsAssignment(broker_ids=[7])]), False),
            ("by hand, dead brokers", ("plain-%", 7, [CreatePartitionsAssignment(broker_ids=[9, 7, 8])] * 2), False),
            ("by hand, two for one", ("plain-%", 6, [CreatePartitionsAssignment(broker_ids=[0])] * 2), False),
            ("by hand, none given", ("plain-%", 6, []), False),
            ("by hand, no replicas", ("plain-%", 6, [CreatePartitionsAssignment(broker_ids=[])]), False),
            ("by hand, a repeated broker", ("plain-%", 6, [CreatePartitionsAssignment(broker_ids=[0, 0])]), False),
            ("without time", ("hurry-%", 2, None, 0), False),
        )
    ),
    *(
        Exchange(
            f"grow: {name!r}, which no znode may be called, beside others",
            CREATE_PARTITIONS_REQUEST,
            lambda w, v, name=name: CreatePartitionsRequest(
                topics=[CreatePartitionsTopic(name=n, count=9, assignments=None) for n in (name, "plain-0", "nowhere")],
                timeout_ms=TIMEOUT_MS,
            ),
        )
        for name in ("", "..", "a//b", "a\x01")
    ),
    Exchange(
        "grow: twice in one request",
        CREATE_PARTITIONS_REQUEST,
        lambda w, v: CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name="plain-0", count=9, assignments=None)] * 2, timeout_ms=TIMEOUT_MS
        ),
    ),
    Exchange(
        "reassignments: all",
        LIST_PARTITION_REASSIGNMENTS_REQUEST,
        lambda w, v: ListPartitionReassignmentsRequest(topics=None),
    ),
    Exchange(
        "reassignments: of one topic",
        LIST_PARTITION_REASSIGNMENTS_REQUEST,
        lambda w, v: ListPartitionReassignmentsRequest(
            topics=[ListPartitionReassignmentsTopics(name="plain-0", partition_indexes=[0, 99])]
        ),
    ),
    Exchange(
        "reassignments: of no topic",
        LIST_PARTITION_REASSIGNMENTS_REQUEST,
        lambda w, v: ListPartitionReassignmentsRequest(topics=[]),
    ),
    Exchange("cluster", DESCRIBE_CLUSTER_REQUEST, lambda w, v: DescribeClusterRequest()),
    Exchange(
        "cluster: operations",
        DESCRIBE_CLUSTER_REQUEST,
        lambda w, v: DescribeClusterRequest(include_cluster_authorized_operations=True),
    ),
    Exchange(
        "cluster: controllers", DESCRIBE_CLUSTER_REQUEST, lambda w, v: DescribeClusterRequest(endpoint_type=2), [1]
    ),
    Exchange(
        "cluster: an unknown endpoint type",
        DESCRIBE_CLUSTER_REQUEST,
        lambda w, v: DescribeClusterRequest(endpoint_type=9),
        [1],
    ),
    *(
        Exchange(
            f"delete: {name}",
            DELETE_TOPICS_REQUEST,
            lambda world, version, names=names, timeout=timeout: (
                DeleteTopicsRequest(topic_names=[n.replace("%", str(version)) for n in names], timeout_ms=timeout)
                if version < 6
                else DeleteTopicsRequest(
                    topics=[DeleteTopicState(name=n.replace("%", str(version))) for n in names], timeout_ms=timeout
                )
            ),
        )
        for name, names, timeout in (
            ("one topic", ["configs-%"], TIMEOUT_MS),
            ("an unknown topic", ["unknown"], TIMEOUT_MS),
            ("an illegal name", ["il legal"], TIMEOUT_MS),
            ("an empty name", [""], TIMEOUT_MS),
            ("no topics", [], TIMEOUT_MS),
            ("twice in one request", ["hand-%", "hand-%"], TIMEOUT_MS),
            ("without time", ["hurry-%"], 0),
        )
    ),
    Exchange(
        "delete: by id",
        DELETE_TOPICS_REQUEST,
        lambda w, v: DeleteTopicsRequest(
            topics=[DeleteTopicState(topic_id=w.remembered["plain-0"])], timeout_ms=TIMEOUT_MS
        ),
        [6],
    ),
    Exchange(
        "delete: by an unknown id",
        DELETE_TOPICS_REQUEST,
        lambda w, v: DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=NOBODYS_ID)], timeout_ms=TIMEOUT_MS),
        [6],
    ),
    Exchange(
        "delete: by id and name",
        DELETE_TOPICS_REQUEST,
        lambda w, v: DeleteTopicsRequest(
            topics=[DeleteTopicState(topic_id=NOBODYS_ID, name="x")], timeout_ms=TIMEOUT_MS
        ),
        [6],
    ),
    Exchange(
        "delete: neither id nor name",
        DELETE_TOPICS_REQUEST,
        lambda w, v: DeleteTopicsRequest(
            topics=[DeleteTopicState(topic_id=NULL_UUID, name=None)], timeout_ms=TIMEOUT_MS
        ),
        [6],
    ),
)
