"""The bodies of the controller's three requests, for each version.

Role        Pure.
Source      LeaderAndIsrRequest.Builder, UpdateMetadataRequest.Builder, StopReplicaRequest.Builder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from kafka_zk.controller.decisions.context import ControllerContext
from kafka_zk.protocol.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafka_zk.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaPartitionV0,
    StopReplicaRequest,
    StopReplicaTopicState,
    StopReplicaTopicV1,
)
from kafka_zk.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kafka_zk.protocol.types import TopicPartition

SECURITY_PROTOCOL_IDS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}

_State = TypeVar("_State")


def leader_and_isr(
    controller_id: int,
    context: ControllerContext,
    broker_epoch: int,
    states: Mapping[TopicPartition, LeaderAndIsrPartitionState],
    listener: str,
    version: int,
) -> LeaderAndIsrRequest:
    """`live_leaders` are the live brokers that lead one of the partitions, at their `listener` endpoint."""
    request = LeaderAndIsrRequest(
        controller_id=controller_id,
        controller_epoch=context.epoch,
        broker_epoch=broker_epoch,
        live_leaders=_live_leaders({state.leader for state in states.values()}, context, listener),
    )
    if version < 2:
        request.ungrouped_partition_states = list(states.values())
    else:
        request.topic_states = [
            LeaderAndIsrTopicState(topic_name=topic, topic_id=context.topic_id(topic), partition_states=of_topic)
            for topic, of_topic in _by_topic(states).items()
        ]
    return request


def _live_leaders(leaders: Iterable[int], context: ControllerContext, listener: str) -> list[LeaderAndIsrLiveLeader]:
    found = []
    for broker_id in sorted(leaders):
        endpoint = context.brokers[broker_id].endpoint(listener) if broker_id in context.brokers else None
        if endpoint is not None:
            found.append(LeaderAndIsrLiveLeader(broker_id=broker_id, host_name=endpoint.host, port=endpoint.port))
    return found


def update_metadata(
    controller_id: int,
    context: ControllerContext,
    broker_epoch: int,
    states: Mapping[TopicPartition, UpdateMetadataPartitionState],
    version: int,
) -> UpdateMetadataRequest:
    """Always carries every live (or shutting down) broker with all its endpoints."""
    request = UpdateMetadataRequest(
        controller_id=controller_id,
        controller_epoch=context.epoch,
        broker_epoch=broker_epoch,
        live_brokers=[
            UpdateMetadataBroker(
                id=broker.broker_id,
                endpoints=[
                    UpdateMetadataEndpoint(
                        port=endpoint.port,
                        host=endpoint.host,
                        listener=endpoint.listener_name,
                        security_protocol=SECURITY_PROTOCOL_IDS[endpoint.security_protocol],
                    )
                    for endpoint in broker.endpoints
                ],
                rack=broker.rack,
            )
            for _, broker in sorted(context.brokers.items())
        ],
    )
    if version < 5:
        request.ungrouped_partition_states = list(states.values())
    else:
        request.topic_states = [
            UpdateMetadataTopicState(topic_name=topic, topic_id=context.topic_id(topic), partition_states=of_topic)
            for topic, of_topic in _by_topic(states).items()
        ]
    return request


def stop_replica(
    controller_id: int,
    context: ControllerContext,
    broker_epoch: int,
    states: Mapping[TopicPartition, StopReplicaPartitionState],
    version: int,
) -> StopReplicaRequest:
    """Before version 3 all of `states` must agree on the delete flag."""
    request = StopReplicaRequest(controller_id=controller_id, controller_epoch=context.epoch, broker_epoch=broker_epoch)
    if version >= 3:
        request.topic_states = [
            StopReplicaTopicState(topic_name=topic, partition_states=of_topic)
            for topic, of_topic in _by_topic(states).items()
        ]
        return request
    request.delete_partitions = any(state.delete_partition for state in states.values())
    if version == 0:
        request.ungrouped_partitions = [
            StopReplicaPartitionV0(topic_name=topic_partition.topic, partition_index=topic_partition.partition)
            for topic_partition in states
        ]
    else:
        request.topics = [
            StopReplicaTopicV1(name=topic, partition_indexes=[state.partition_index for state in of_topic])
            for topic, of_topic in _by_topic(states).items()
        ]
    return request


def _by_topic(states: Mapping[TopicPartition, _State]) -> dict[str, list[_State]]:
    grouped: dict[str, list[_State]] = {}
    for partition, state in states.items():
        grouped.setdefault(partition.topic, []).append(state)
    return grouped
