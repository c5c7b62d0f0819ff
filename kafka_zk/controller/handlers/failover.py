"""Controller failover: a newly elected controller loads its context and initializes the cluster.

Role        Acts, in the controller greenlet.
Invariants  Brokers get the broker list (UpdateMetadata without partitions) before any LeaderAndIsr names a broker they
            might not know. Replicas on dead brokers go offline before partitions look for leaders again.
            Where only a member that restarted unseen is in sync, it leads again: no election before it is unclean.
Source      KafkaController.onControllerFailover, initializeControllerContext.
"""

from __future__ import annotations

from kafka_zk.controller.active_controller import ActiveController
from kafka_zk.controller.decisions.restarts import restarted_unseen
from kafka_zk.controller.events import (
    BrokerChange,
    IsrChangeNotification,
    LogDirEventNotification,
    TopicChange,
    TopicDeletion,
    ZkPartitionReassignment,
    ZkPreferredElection,
)
from kafka_zk.controller.handlers import brokers, deletion, elections, reassignment, topics
from kafka_zk.zk.znodes import (
    BrokerIdsZNode,
    DeleteTopicsZNode,
    IsrChangeNotificationZNode,
    LogDirEventNotificationZNode,
    PreferredReplicaElectionZNode,
    ReassignPartitionsZNode,
    TopicsZNode,
)

FIRST_REBALANCE_DELAY_MS = 5_000


def fail_over(controller: ActiveController) -> None:
    """Blocks. The whole failover. Raises ControllerMoved if another broker was elected meanwhile."""
    if controller.versions.feature_znode_version is not None:
        controller.store.set_up_features(controller.versions.feature_znode_version)
    controller.info("Registering handlers")
    _watch_cluster(controller)
    controller.info("Deleting log dir event notifications")
    controller.store.remove_log_dir_events(controller.store.log_dir_event_names())
    controller.info("Deleting isr change notifications")
    controller.store.remove_isr_change_notifications(controller.store.isr_change_notification_names())
    controller.info("Initializing controller context")
    restarted = _read_cluster(controller)
    controller.info("Fetching topic deletions in progress")
    deletion.queue_at_startup(controller)
    controller.info("Sending update metadata request")
    controller.outbox.update_metadata(controller.context.live_or_shutting_down_ids())
    controller.replicas.start()
    controller.partitions.waits_for_members = bool(restarted)
    controller.partitions.start()
    if restarted:
        controller.info(f"Brokers {restarted} restarted while there was no controller: they left the ISRs, and join")
        controller.partitions.waits_for_members = False
        brokers.on_broker_change(controller)
        controller.partitions.bring_online()
    controller.info(f"Ready to serve as the new controller with epoch {controller.context.epoch}")
    reassignment.drop_abandoned(controller)
    reassignment.on_znode(controller)
    reassignment.resume(controller, lambda assignment: assignment.is_being_reassigned)
    deletion.resume(controller)
    elections.on_preferred_election_znode(controller)
    if controller.settings.auto_leader_rebalance_enable:
        elections.schedule_auto_rebalance(controller, FIRST_REBALANCE_DELAY_MS)


def _watch_cluster(controller: ActiveController) -> None:
    controller.watch(BrokerIdsZNode.PATH, "children", BrokerChange())
    controller.watch(TopicsZNode.PATH, "children", TopicChange())
    controller.watch(DeleteTopicsZNode.PATH, "children", TopicDeletion())
    controller.watch(LogDirEventNotificationZNode.PATH, "children", LogDirEventNotification())
    controller.watch(IsrChangeNotificationZNode.PATH, "children", IsrChangeNotification())
    controller.watch(PreferredReplicaElectionZNode.PATH, "exists", ZkPreferredElection())
    controller.watch(ReassignPartitionsZNode.PATH, "exists", ZkPartitionReassignment())


def _read_cluster(controller: ActiveController) -> list[int]:
    """Blocks. Fill the context, but for the brokers that restarted unseen: those are returned, and count as dead."""
    context = controller.context
    context.brokers = controller.store.compatible_brokers()
    controller.info(
        f"Initialized broker epochs cache: { {id: broker.epoch for id, broker in context.brokers.items()} }"
    )
    partitions = topics.learn(controller, sorted(controller.store.topics()))
    found = controller.store.states_and_zxids(partitions)
    context.leadership.update({partition: state for partition, (state, _) in found.items()})
    restarted = restarted_unseen(context.brokers, found.values())
    for broker_id in restarted:
        del context.brokers[broker_id]
    for broker in context.brokers.values():
        controller.channels.add(broker)
    brokers.watch_brokers(controller, context.brokers)
    controller.info(f"Currently active brokers in the cluster: {sorted(context.brokers)}")
    controller.info(f"Current list of topics in the cluster: {sorted(context.assignments)}")
    return restarted
