"""Controller failover: a newly elected controller loads its context and initializes the cluster.

Role        Acts, in the controller greenlet.
Invariants  Brokers get the broker list (UpdateMetadata without partitions) before any LeaderAndIsr names a broker they
            might not know. Replicas on dead brokers go offline before partitions look for leaders again.
Source      KafkaController.onControllerFailover, initializeControllerContext.
"""

from __future__ import annotations

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
from kafka_zk.controller.term import Term
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


def take_office(term: Term) -> None:
    """Blocks. The whole failover. Raises ControllerMoved if somebody else was elected meanwhile."""
    if term.versions.feature_znode_version is not None:
        term.store.set_up_features(term.versions.feature_znode_version)
    term.info("Registering handlers")
    _watch_cluster(term)
    term.info("Deleting log dir event notifications")
    term.store.remove_log_dir_events(term.store.log_dir_event_names())
    term.info("Deleting isr change notifications")
    term.store.remove_isr_change_notifications(term.store.isr_change_notification_names())
    term.info("Initializing controller context")
    _read_cluster(term)
    term.info("Fetching topic deletions in progress")
    deletion.queue_at_startup(term)
    term.info("Sending update metadata request")
    term.outbox.update_metadata(term.context.live_or_shutting_down_ids())
    term.replicas.start()
    term.partitions.start()
    term.info(f"Ready to serve as the new controller with epoch {term.context.epoch}")
    reassignment.drop_abandoned(term)
    reassignment.on_znode(term)
    reassignment.resume(term, lambda assignment: assignment.is_being_reassigned)
    deletion.resume(term)
    elections.on_preferred_election_znode(term)
    if term.settings.auto_leader_rebalance_enable:
        elections.schedule_auto_rebalance(term, FIRST_REBALANCE_DELAY_MS)


def _watch_cluster(term: Term) -> None:
    term.watch(BrokerIdsZNode.PATH, "children", BrokerChange())
    term.watch(TopicsZNode.PATH, "children", TopicChange())
    term.watch(DeleteTopicsZNode.PATH, "children", TopicDeletion())
    term.watch(LogDirEventNotificationZNode.PATH, "children", LogDirEventNotification())
    term.watch(IsrChangeNotificationZNode.PATH, "children", IsrChangeNotification())
    term.watch(PreferredReplicaElectionZNode.PATH, "exists", ZkPreferredElection())
    term.watch(ReassignPartitionsZNode.PATH, "exists", ZkPartitionReassignment())


def _read_cluster(term: Term) -> None:
    context = term.context
    context.brokers = term.store.compatible_brokers()
    term.info(f"Initialized broker epochs cache: { {id: broker.epoch for id, broker in context.brokers.items()} }")
    partitions = topics.learn(term, sorted(term.store.topics()))
    context.leadership.update(term.store.states(partitions))
    for broker in context.brokers.values():
        term.channels.add(broker)
    brokers.watch_brokers(term, context.brokers)
    term.info(f"Currently active brokers in the cluster: {sorted(context.brokers)}")
    term.info(f"Current list of topics in the cluster: {sorted(context.assignments)}")
