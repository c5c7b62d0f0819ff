"""Builds and starts the coordinators of one broker: of groups, of transactions, and what both need.

Role        Acts. A step of the start, like those of `parts`.
Source      KafkaServer.startup.
"""

from __future__ import annotations

from collections.abc import Callable

import gevent

from kafka_zk.broker.peers import Peers
from kafka_zk.broker.stops import Stops
from kafka_zk.clock import Clock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.coordinator.group.coordinator import GroupCoordinator
from kafka_zk.coordinator.lag.gauges import GroupLag
from kafka_zk.coordinator.transaction.coordinator import TransactionCoordinator
from kafka_zk.coordinator.transaction.marker_writer import MarkerWriter
from kafka_zk.coordinator.transaction.producer_id_znode import ZkProducerIds
from kafka_zk.coordinator.transaction.producer_ids import ProducerIdManager
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metadata.controller_channel import ControllerChannel
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.protocol.internal_topics import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from kafka_zk.replication.manager import ReplicaManager
from kafka_zk.replication.serving.transaction_verifier import TransactionVerifier
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.topics import gone_partitions, gone_topics, topic_assignment


class Coordinators:
    """Blocks until they have started. Leaderships are told to them from then on; `stops` gets their stops."""

    def __init__(
        self,
        config: BrokerConfig,
        broker_id: int,
        *,
        broker_epoch: Callable[[], int],
        clock: Clock,
        metrics: MetricsRegistry,
        zk: ZkClient,
        metadata_cache: MetadataCache,
        replica_manager: ReplicaManager,
        controller: ControllerChannel,
        peers: Peers,
        stops: Stops,
    ) -> None:
        def partition_count(topic: str) -> int | None:
            """Blocks. In ZooKeeper; None if the topic does not exist yet."""
            found = topic_assignment(zk, topic)
            return None if found is None else len(found.partitions)

        self.groups = GroupCoordinator(
            config=config,
            clock=clock,
            replica_manager=replica_manager,
            metadata_cache=metadata_cache,
            metrics=metrics,
            offsets_partition_count=lambda: partition_count(GROUP_METADATA_TOPIC),
            gone_topics=lambda topics: gone_topics(zk, topics),
        )
        self.groups.startup()
        stops.add("group coordinator", self.groups.shutdown)
        GroupLag(
            hosted=replica_manager.hosted,
            coordinated=self.groups.committed_offsets,
            others=peers.others,
            connect=lambda node: peers.connect_to_leader(node, f"broker-{broker_id}-group-lag"),
            pause=lambda: gevent.sleep(0),
            clock=clock,
        ).register(metrics)
        # A controller of a release before 3.0 allocates none.
        is_allocated = config.inter_broker_protocol_version.is_at_least("3.0-IV0")
        self.producer_ids = ProducerIdManager(
            broker_id=broker_id,
            broker_epoch=broker_epoch,
            controller=controller if is_allocated else ZkProducerIds(zk),
            clock=clock,
        )
        self.marker_writer = MarkerWriter(
            replica_manager=replica_manager,
            clock=clock,
            timeout_ms=lambda: config.request_timeout_ms,
            ended=self.groups.handle_txn_completion,
        )
        self.transactions = TransactionCoordinator(
            config=config,
            clock=clock,
            replica_manager=replica_manager,
            metadata_cache=metadata_cache,
            metrics=metrics,
            peers=peers.channels(f"broker-{broker_id}-txn-marker-sender"),
            broker_id=broker_id,
            marker_writer=self.marker_writer,
            producer_ids=self.producer_ids,
            state_partition_count=lambda: partition_count(TRANSACTION_STATE_TOPIC),
            gone_partitions=lambda partitions: gone_partitions(zk, partitions),
        )
        self.transactions.startup()
        stops.add("transaction coordinator", self.transactions.shutdown)
        self.transaction_verifier = TransactionVerifier(
            broker_id=broker_id,
            own_coordinator=self.transactions.verify_here,
            hosted=replica_manager.hosted,
            peers=peers.channels(f"AddPartitionsManager-client-{broker_id}"),
            metadata_cache=metadata_cache,
            partition_for=self.transactions.partition_for,
            is_enabled=lambda: config.transaction_partition_verification_enable,
            clock=clock,
            metrics=metrics,
        )
