"""What the tests of the admin room start from: a ZooKeeper in memory with a controller, and a broker that knows it."""

from __future__ import annotations

import random
from typing import Any

from kafka_zk.admin.topics import TopicAdmin
from kafka_zk.clock import SimClock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataBroker, UpdateMetadataRequest
from kafka_zk.zk.znodes import ControllerRegistration, ControllerZNode
from tests.simulation.model_zookeeper import ModelZooKeeper


class Cluster:
    """Brokers 1 to 3, no topic, and the `admin` of one of them, whose configuration has `properties`."""

    def __init__(self, **properties: str) -> None:
        self.zookeeper = ModelZooKeeper().with_kafka_paths()
        self.zookeeper.ensure("/controller", ControllerZNode.encode(ControllerRegistration(1, timestamp_ms=0)))
        self.zookeeper.writes.clear()
        self.zk: Any = self.zookeeper.client()
        cache = MetadataCache()
        cache.update(
            UpdateMetadataRequest(
                controller_id=1,
                live_brokers=[UpdateMetadataBroker(id=broker_id, rack=None, endpoints=[]) for broker_id in (1, 2, 3)],
            )
        )
        config = BrokerConfig.from_properties({"zookeeper.connect": "z:1", **properties})
        self.admin = TopicAdmin(self.zk, config, cache, SimClock(), random.Random(1))
