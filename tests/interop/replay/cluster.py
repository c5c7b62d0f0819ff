"""What brokers and operators ask of the controller and of each other: good cases, and who is refused with what."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kafka_zk.protocol.messages.allocate_producer_ids import ALLOCATE_PRODUCER_IDS_REQUEST, AllocateProducerIdsRequest
from kafka_zk.protocol.messages.alter_partition import (
    ALTER_PARTITION_REQUEST,
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from kafka_zk.protocol.messages.alter_partition_reassignments import (
    ALTER_PARTITION_REASSIGNMENTS_REQUEST,
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafka_zk.protocol.messages.controlled_shutdown import CONTROLLED_SHUTDOWN_REQUEST, ControlledShutdownRequest
from kafka_zk.protocol.messages.create_topics import CREATE_TOPICS_REQUEST, CreatableTopic, CreateTopicsRequest
from kafka_zk.protocol.messages.elect_leaders import ELECT_LEADERS_REQUEST, ElectLeadersRequest, TopicPartitions
from kafka_zk.protocol.messages.leader_and_isr import (
    LEADER_AND_ISR_REQUEST,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest, MetadataRequestTopic
from kafka_zk.protocol.messages.stop_replica import (
    STOP_REPLICA_REQUEST,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from kafka_zk.protocol.messages.update_metadata import UPDATE_METADATA_REQUEST, UpdateMetadataRequest
from tests.interop.replay.scenario import Exchange, World

NOBODYS_ID = UUID(int=0x1234_5678_9ABC_4DEF_8123_456789ABCDEF)
MODERN = range(5, 8)
"""Versions of LeaderAndIsr with topic ids."""


def remember_id(world: World, answer: Any) -> None:
    world.remembered["topic"] = answer.topics[0].topic_id


def elect(
    name: str, kind: int, *topics: tuple[str, list[int]], everything: bool = False, timeout_ms: int = 5000
) -> Exchange:
    def build(world: World, version: int) -> ElectLeadersRequest:
        asked = [TopicPartitions(topic=topic, partitions=indexes) for topic, indexes in topics]
        fields: dict[str, Any] = {"topic_partitions": None if everything else asked, "timeout_ms": timeout_ms}
        return ElectLeadersRequest(**fields, **({"election_type": kind} if version >= 1 else {}))

    return Exchange(f"elect: {name}", ELECT_LEADERS_REQUEST, build, range(1, 3) if kind else range(3))


def reassign(name: str, topic: str, index: int, replicas: list[int] | None) -> Exchange:
    partition = ReassignablePartition(partition_index=index, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=topic, partitions=[partition])], timeout_ms=5000
    )
    return Exchange(f"reassign: {name}", ALTER_PARTITION_REASSIGNMENTS_REQUEST, lambda world, version: request)


def alter_isr(
    name: str,
    *,
    isr: list[int],
    broker_id: int = 0,
    broker_epoch: int = -1,
    leader_epoch: int = 0,
    partition_epoch: int = 0,
    recovery_state: int = 0,
    known: bool = True,
) -> Exchange:
    def build(world: World, version: int) -> AlterPartitionRequest:
        members: dict[str, Any] = (
            {"new_isr_with_epochs": [BrokerState(broker_id=member) for member in isr]}
            if version >= 3
            else {"new_isr": isr}
        )
        partition = RequestPartitionData(
            partition_index=0,
            leader_epoch=leader_epoch,
            partition_epoch=partition_epoch,
            **members,
            **({"leader_recovery_state": recovery_state} if version >= 1 else {}),
        )
        topic: dict[str, Any] = (
            {"topic_id": world.remembered["topic"] if known else NOBODYS_ID}
            if version >= 2
            else {"topic_name": "led" if known else "nowhere"}
        )
        return AlterPartitionRequest(
            broker_id=broker_id, broker_epoch=broker_epoch, topics=[RequestTopicData(**topic, partitions=[partition])]
        )

    return Exchange(f"alter isr: {name}", ALTER_PARTITION_REQUEST, build)


def lead(
    name: str, topic: str, *, leader_epoch: int, controller_epoch: int, replicas: list[int], **more: Any
) -> Exchange:
    """A LeaderAndIsr from somebody who says that it is the controller."""

    def build(world: World, version: int) -> LeaderAndIsrRequest:
        state = LeaderAndIsrPartitionState(
            partition_index=0,
            controller_epoch=controller_epoch,
            leader=0,
            leader_epoch=leader_epoch,
            isr=replicas,
            replicas=replicas,
            partition_epoch=0,
        )
        topic_id = more.get("topic_id") or world.remembered["topic"]
        return LeaderAndIsrRequest(
            controller_id=0,
            controller_epoch=controller_epoch,
            broker_epoch=more.get("broker_epoch", -1),
            topic_states=[LeaderAndIsrTopicState(topic_name=topic, topic_id=topic_id, partition_states=[state])],
        )

    return Exchange(f"lead: {name}", LEADER_AND_ISR_REQUEST, build, MODERN)


def stop(name: str, topic: str, *, leader_epoch: int, controller_epoch: int, broker_epoch: int = -1) -> Exchange:
    def build(world: World, version: int) -> StopReplicaRequest:
        state = StopReplicaPartitionState(partition_index=0, leader_epoch=leader_epoch, delete_partition=False)
        return StopReplicaRequest(
            controller_id=0,
            controller_epoch=controller_epoch,
            broker_epoch=broker_epoch,
            topic_states=[StopReplicaTopicState(topic_name=topic, partition_states=[state])],
        )

    return Exchange(f"stop: {name}", STOP_REPLICA_REQUEST, build, range(3, 5))


EXCHANGES = (
    Exchange(
        "a topic to lead",
        CREATE_TOPICS_REQUEST,
        lambda world, version: CreateTopicsRequest(
            topics=[CreatableTopic(name="led", num_partitions=2, replication_factor=1)], timeout_ms=20_000
        ),
        [7],
    ),
    Exchange(
        "its id",
        METADATA_REQUEST,
        lambda world, version: MetadataRequest(topics=[MetadataRequestTopic(name="led")]),
        [12],
        keep=remember_id,
    ),
    elect("preferred, not needed", 0, ("led", [0, 1])),
    elect("preferred, an unknown partition", 0, ("led", [0, 9])),
    elect("preferred, an unknown topic", 0, ("nowhere", [0])),
    elect("preferred, all", 0, everything=True),
    elect("preferred, none", 0),
    elect("unclean, not needed", 1, ("led", [0])),
    elect("unclean, an unknown topic", 1, ("nowhere", [0])),
    elect("an unknown type", 9, ("led", [0])),
    elect("without time", 0, ("led", [0]), timeout_ms=0),
    reassign("to where it is", "led", 0, [0]),
    reassign("to a dead broker", "led", 0, [7]),
    reassign("to nowhere", "led", 0, []),
    reassign("to one broker twice", "led", 0, [0, 0]),
    reassign("to a negative broker", "led", 0, [-1]),
    reassign("cancel nothing", "led", 0, None),
    reassign("an unknown topic", "nowhere", 0, [0]),
    reassign("an unknown partition", "led", 9, [0]),
    Exchange(
        "reassign: nothing",
        ALTER_PARTITION_REASSIGNMENTS_REQUEST,
        lambda world, version: AlterPartitionReassignmentsRequest(topics=[], timeout_ms=5000),
    ),
    Exchange(
        "controlled shutdown: of an unknown broker",
        CONTROLLED_SHUTDOWN_REQUEST,
        lambda world, version: ControlledShutdownRequest(broker_id=77),
        range(1, 4),
    ),
    Exchange(
        "controlled shutdown: of an earlier life",
        CONTROLLED_SHUTDOWN_REQUEST,
        lambda world, version: ControlledShutdownRequest(broker_id=0, broker_epoch=1),
        range(2, 4),
    ),
    Exchange(
        "producer ids: for an unknown broker",
        ALLOCATE_PRODUCER_IDS_REQUEST,
        lambda world, version: AllocateProducerIdsRequest(broker_id=77, broker_epoch=1),
    ),
    Exchange(
        "producer ids: for an earlier life",
        ALLOCATE_PRODUCER_IDS_REQUEST,
        lambda world, version: AllocateProducerIdsRequest(broker_id=0, broker_epoch=1),
    ),
    alter_isr("of an unknown broker", isr=[0], broker_id=77),
    alter_isr("of an earlier life", isr=[0], broker_epoch=1),
    lead("an older controller", "led", leader_epoch=5, controller_epoch=0, replicas=[0]),
    lead("an earlier life", "led", leader_epoch=5, controller_epoch=1, replicas=[0], broker_epoch=1),
    lead("the epoch it has", "led", leader_epoch=0, controller_epoch=1, replicas=[0]),
    lead("another topic id", "led", leader_epoch=5, controller_epoch=1, replicas=[0], topic_id=NOBODYS_ID),
    lead("no replica of ours", "other", leader_epoch=5, controller_epoch=1, replicas=[7], topic_id=NOBODYS_ID),
    stop("an older controller", "led", leader_epoch=0, controller_epoch=0),
    stop("an earlier life", "led", leader_epoch=0, controller_epoch=1, broker_epoch=1),
    stop("what is not here", "nowhere", leader_epoch=0, controller_epoch=1),
    Exchange(
        "update metadata: an older controller",
        UPDATE_METADATA_REQUEST,
        lambda world, version: UpdateMetadataRequest(controller_id=0, controller_epoch=0),
        range(5, 9),
    ),
    Exchange(
        "update metadata: an earlier life",
        UPDATE_METADATA_REQUEST,
        lambda world, version: UpdateMetadataRequest(controller_id=0, controller_epoch=1, broker_epoch=1),
        range(5, 9),
    ),
)
