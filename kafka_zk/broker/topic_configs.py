"""The configs of the topics that have logs on this broker.

Role        Acts, through ZooKeeper: reads a topic's overrides when its first log is opened, then follows changes.
Invariants  A topic's configs are those in ZooKeeper when its log was opened, plus each change since. A topic
            that was deleted is unknown again: the next one of its name has its own configs, without a change event.
            So nothing is kept for a topic without znode, even if its log still exists; and since the znode of a topic
            being deleted exists for a while, its configs are forgotten again when its last log is removed.
Source      ZkConfigRepository, LogManager.fetchLogConfig, TopicConfigHandler.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.layers import Layers
from kafka_zk.config.topic import LogConfig
from kafka_zk.protocol.errors import InvalidConfig
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.control_requests import ReplicaStop
from kafka_zk.zk.entity_configs import entity_configs, stored_config
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.topics import topic_names
from kafka_zk.zk.znodes import entity_path


class TopicConfigs:
    """`broker_config` gives the values that a topic does not override."""

    def __init__(self, zk: ZkClient, broker_config: Callable[[], BrokerConfig]) -> None:
        self._zk = zk
        self._broker_config = broker_config
        self._overrides: dict[str, Mapping[str, str]] = {}
        self._being_read: dict[str, object] = {}
        self._latest: tuple[Layers, Mapping[str, str], LogConfig] | None = None
        """The configs made last, and of what: the partitions of a new topic all want the same, most topics too."""

    def load(self) -> None:
        """Blocks. Read the overrides of every topic at once: a start opens the logs of many."""
        paths = {entity_path(("topics", topic)): topic for topic in topic_names(self._zk)}
        self._overrides = {paths[path]: found for path, found in entity_configs(self._zk, paths).items()}

    def end_of_start(self, with_logs: Set[str]) -> None:
        """Keep of what was loaded only topics that have logs here.

        Before its registration a broker does not hear of deleted topics, unless it has a replica.
        """
        for topic in self._overrides.keys() - with_logs:
            del self._overrides[topic]

    def config_of(self, topic: str) -> LogConfig:
        """Blocks if the topic is not known yet, because it was just created. Raises InvalidConfig."""
        overrides = self._overrides.get(topic)
        if overrides is None:
            reading = self._being_read[topic] = object()
            try:
                found = stored_config(self._zk, entity_path(("topics", topic)))
            finally:
                # Replaced if a later call reads, too; missing if the topic was forgotten meanwhile.
                is_latest = self._being_read.get(topic) is reading
                if is_latest:
                    del self._being_read[topic]
            # A change announced while we read is newer.
            overrides = self._overrides.get(topic, found.overrides)
            if found.version is not None and is_latest:
                self._overrides[topic] = overrides
        return self._log_config(topic, overrides)

    def change(self, topic: str, overrides: Mapping[str, str]) -> tuple[LogConfig, LogConfig] | None:
        """Take over all overrides of a topic. Returns the configs before and after, None if they are equal.

        Raises InvalidConfig, and keeps the old ones, if one of them is wrong.
        """
        before = self._overrides.get(topic)
        if before == overrides:
            return None
        now = self._log_config(topic, overrides)
        if before is not None or topic in self._being_read:
            self._overrides[topic] = dict(overrides)
        return self._log_config(topic, before or {}), now

    def forget(self, deleted: Collection[TopicPartition]) -> None:
        """Drop the topics of these deleted partitions."""
        for topic_partition in deleted:
            self._forget(topic_partition.topic)

    def stopped(self, stops: Sequence[ReplicaStop], with_logs: Callable[[], Set[str]]) -> None:
        """After each StopReplica: forget the deleted topics, but not those `with_logs` here. Does not switch."""
        deleted = {stop.topic_partition.topic for stop in stops if stop.delete}
        known = deleted & (self._overrides.keys() | self._being_read.keys())
        if known:
            for topic in known - with_logs():
                self._forget(topic)

    def _forget(self, topic: str) -> None:
        self._overrides.pop(topic, None)
        self._being_read.pop(topic, None)

    def _log_config(self, topic: str, overrides: Mapping[str, str]) -> LogConfig:
        broker_config = self._broker_config()
        # A changed broker has other layers, though it is the same object.
        layers, latest = broker_config.layers, self._latest
        if latest is not None and latest[0] is layers and latest[1] == overrides:
            return latest[2]
        try:
            made = LogConfig.from_overrides(broker_config, overrides)
        except ConfigException as error:
            raise InvalidConfig(f"Invalid config of topic {topic} in ZooKeeper: {error}") from error
        self._latest = layers, dict(overrides), made
        return made
