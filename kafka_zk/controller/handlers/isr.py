"""ISR changes: AlterPartition requests, and notification znodes of leaders with an old protocol.

Role        Acts, in the controller greenlet, on the decisions of `alter_partition`.
Invariants  The answer names the version that ZooKeeper gave. Brokers are sent every partition asked about, also the
            refused ones: a leader with stale metadata gets the current.
Source      KafkaController.processAlterPartition, processIsrChangeNotification; KIP-497, KIP-841, KIP-903.
"""

from __future__ import annotations

import uuid

from kafka_zk.controller.active_controller import ActiveController
from kafka_zk.controller.decisions.alter_partition import (
    AlreadySo,
    Refused,
    WantedIsr,
    Write,
    broker_epoch_problem,
    decide,
)
from kafka_zk.controller.decisions.context import Leadership
from kafka_zk.controller.events import AlterPartitionReceived
from kafka_zk.controller.handlers import reassignment
from kafka_zk.protocol.errors import BrokerError, ErrorCode, InvalidUpdateVersion, error_code_for
from kafka_zk.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    RequestPartitionData,
    ResponsePartitionData,
    ResponseTopicData,
)
from kafka_zk.protocol.types import TopicPartition

Outcomes = dict[TopicPartition, Leadership | BrokerError]


def alter_partition(controller: ActiveController, event: AlterPartitionReceived) -> AlterPartitionResponse:
    """Blocks. Decide and write; `after_alter_partition` has to follow once the answer is out."""
    request = event.request
    problem = broker_epoch_problem(controller.context, request.broker_id, request.broker_epoch)
    if problem is not None:
        controller.info(
            f"Ignoring AlterPartition due to stale broker epoch {request.broker_epoch} of broker {request.broker_id}"
        )
        return AlterPartitionResponse(error_code=problem.code)
    outcomes = _write_accepted(controller, event)
    topics = []
    for topic in request.topics:
        name = _topic_name(controller, topic.topic_name, topic.topic_id, event.api_version)
        partitions = []
        for wanted in topic.partitions:
            partition = TopicPartition(name or "", wanted.partition_index)
            if name is None:
                data = ResponsePartitionData(
                    partition_index=wanted.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_ID
                )
            else:
                data = _answer(wanted.partition_index, outcomes[partition])
            partitions.append(data)
        topics.append(ResponseTopicData(topic_name=name or "", topic_id=topic.topic_id, partitions=partitions))
    return AlterPartitionResponse(topics=topics)


def after_alter_partition(controller: ActiveController, event: AlterPartitionReceived) -> None:
    """Blocks. Send the new partition states to all brokers; complete reassignments that waited for them."""
    asked = _asked_partitions(controller, event.request, event.api_version)
    if not asked:
        return
    _refresh(controller, asked)
    controller.outbox.update_metadata(controller.context.live_or_shutting_down_ids(), asked)
    reassignment.complete_where_caught_up(controller, asked)


def _write_accepted(controller: ActiveController, event: AlterPartitionReceived) -> Outcomes:
    outcomes: Outcomes = {}
    writes: dict[TopicPartition, Leadership] = {}
    for partition, wanted in _wanted(controller, event).items():
        match decide(controller.context, partition, event.request.broker_id, wanted, event.api_version):
            case Refused(error):
                controller.info(
                    f"Rejecting AlterPartition request from node {event.request.broker_id} for {partition}: {error}"
                )
                outcomes[partition] = error
            case AlreadySo(leadership):
                outcomes[partition] = leadership
            case Write(leadership):
                writes[partition] = leadership
    written = controller.store.update_states(writes)
    for partition, leadership in written.written.items():
        controller.debug(f"ISR for partition {partition} updated to {list(leadership.isr)}")
        controller.context.leadership[partition] = leadership
        outcomes[partition] = leadership
    for partition in written.conflicts:
        controller.info(
            f"Failed to update ISR to {list(writes[partition].isr)} for partition {partition}, bad ZK version."
        )
        outcomes[partition] = InvalidUpdateVersion()
    outcomes.update(written.failed)
    return outcomes


def _wanted(controller: ActiveController, event: AlterPartitionReceived) -> dict[TopicPartition, WantedIsr]:
    wanted = {}
    for topic in event.request.topics:
        name = _topic_name(controller, topic.topic_name, topic.topic_id, event.api_version)
        if name is not None:
            for data in topic.partitions:
                wanted[TopicPartition(name, data.partition_index)] = _wanted_isr(data, event.api_version)
    return wanted


def _wanted_isr(data: RequestPartitionData, api_version: int) -> WantedIsr:
    isr = [member.broker_id for member in data.new_isr_with_epochs] if api_version >= 3 else data.new_isr
    return WantedIsr(data.leader_epoch, tuple(isr), data.leader_recovery_state, data.partition_epoch)


def _topic_name(controller: ActiveController, name: str, topic_id: uuid.UUID, api_version: int) -> str | None:
    """From version 2 on a topic is named by its id; None: the id is unknown."""
    return controller.context.topic_names.get(topic_id) if api_version >= 2 else name


def _asked_partitions(
    controller: ActiveController, request: AlterPartitionRequest, api_version: int
) -> list[TopicPartition]:
    asked = []
    for topic in request.topics:
        name = _topic_name(controller, topic.topic_name, topic.topic_id, api_version)
        if name is not None:
            asked += [TopicPartition(name, data.partition_index) for data in topic.partitions]
    return asked


def _answer(index: int, outcome: Leadership | BrokerError) -> ResponsePartitionData:
    if isinstance(outcome, BrokerError):
        return ResponsePartitionData(partition_index=index, error_code=error_code_for(outcome))
    return ResponsePartitionData(
        partition_index=index,
        leader_id=outcome.leader,
        leader_epoch=outcome.leader_epoch,
        isr=list(outcome.isr),
        leader_recovery_state=outcome.recovery_state,
        partition_epoch=outcome.partition_epoch,
    )


def _refresh(controller: ActiveController, partitions: list[TopicPartition]) -> None:
    known = [
        topic_partition for topic_partition in partitions if controller.context.assignment(topic_partition).replicas
    ]
    controller.context.leadership.update(controller.store.states(known))


def on_isr_change_notification(controller: ActiveController) -> None:
    """Blocks. Leaders wrote these states themselves: read them, notify all brokers, delete the notifications."""
    names, partitions = controller.store.isr_change_notifications()
    if partitions:
        _refresh(controller, partitions)
        controller.outbox.update_metadata(controller.context.live_or_shutting_down_ids(), partitions)
        reassignment.complete_where_caught_up(controller, partitions)
    controller.store.remove_isr_change_notifications(names)
