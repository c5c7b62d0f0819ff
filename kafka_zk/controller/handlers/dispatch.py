"""Maps each event of an active controller to its handler.

Role        Acts, in the controller greenlet: the one place that knows all handlers.
Source      KafkaController.process.
"""

from __future__ import annotations

from typing import Any

from kafka_zk.controller import events
from kafka_zk.controller.active_controller import ActiveController
from kafka_zk.controller.handlers import (
    brokers,
    deletion,
    elections,
    isr,
    producer_ids,
    reassignment,
    shutdown,
    topics,
)
from kafka_zk.controller.mailbox import Queued
from kafka_zk.controller.state_change_log import StateChangeLog
from kafka_zk.network.pending import Pending


def dispatch(controller: ActiveController, queued: Queued) -> None:
    """Blocks. Handle one event. A waiting caller gets the result, or the error, which is also raised."""
    if queued.reply is None:
        _react(controller, queued.event)
    else:
        _answer(controller, queued.event, queued.reply)


def _is_outdated(controller: ActiveController, answer: events.BrokerAnswer) -> bool:
    """Whether the request was sent to an earlier broker epoch, or in an earlier controller epoch.

    Differs from Kafka, which takes such an answer for one about the present: a StopReplica that the broker's next life
    refused then keeps its topic from being deleted until some broker starts.
    """
    broker = controller.context.brokers.get(answer.broker_id)
    return broker is None or broker.epoch != answer.broker_epoch or answer.controller_epoch != controller.context.epoch


def _react(controller: ActiveController, event: events.Event) -> None:
    match event:
        case events.BrokerAnswer() if _is_outdated(controller, event):
            controller.debug(f"Ignoring the response of broker {event.broker_id} to an outdated request")
        case events.BrokerChange():
            brokers.on_broker_change(controller)
        case events.BrokerModifications(broker_id):
            brokers.on_broker_modifications(controller, [broker_id])
        case events.TopicChange():
            topics.on_topic_change(controller)
        case events.PartitionModifications(topic):
            topics.on_partition_modifications(controller, topic)
        case events.TopicDeletion():
            deletion.on_topic_deletion(controller)
        case events.IsrChangeNotification():
            isr.on_isr_change_notification(controller)
        case events.LogDirEventNotification():
            brokers.on_log_dir_events(controller)
        case events.ZkPartitionReassignment():
            reassignment.on_znode(controller)
        case events.ZkPreferredElection():
            elections.on_preferred_election_znode(controller)
        case events.AutoPreferredElection():
            elections.on_auto_rebalance(controller)
        case events.UncleanElectionDefault():
            elections.on_unclean_default_changed(controller)
        case events.TopicUncleanElectionEnable(topic):
            elections.on_unclean_election_enabled(controller, topic)
        case events.LeaderAndIsrResponseReceived():
            log = StateChangeLog(controller.broker_id, controller.context.epoch)
            brokers.on_leader_and_isr_response(controller, log, event)
        case events.UpdateMetadataResponseReceived():
            brokers.on_update_metadata_response(controller, event)
        case events.TopicDeletionStopReplicaResponseReceived():
            deletion.on_stop_replica_response(controller, event.broker_id, event.errors)
        case _:
            raise AssertionError(f"no handler for {event}")


def _answer(controller: ActiveController, event: events.Event, reply: Pending[Any]) -> None:
    match event:
        case events.AlterPartitionReceived():
            reply.complete(isr.alter_partition(controller, event))
            isr.after_alter_partition(controller, event)
        case events.AllocateProducerIds(broker_id, broker_epoch):
            reply.complete(producer_ids.allocate(controller, broker_id, broker_epoch))
        case events.ControlledShutdown(broker_id, broker_epoch):
            reply.complete(shutdown.controlled_shutdown(controller, broker_id, broker_epoch))
        case events.ReplicaLeaderElection(partitions, election_type):
            reply.complete(elections.on_election_request(controller, partitions, election_type))
        case events.ApiPartitionReassignment(targets):
            reply.complete(reassignment.on_api_request(controller, targets))
        case events.ListPartitionReassignments(partitions):
            reply.complete(reassignment.listing(controller, partitions))
        case _:
            raise AssertionError(f"no handler for the request {event}")
