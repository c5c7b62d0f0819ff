"""The throttle of --drain and --balance: what this run set, and nothing else, is removed again.

Role        Acts, through the admin client. A rate that a broker has already is somebody else's: it is neither changed
            nor removed. Replicas are added to the lists of a topic, and taken off them again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafka_zk.client.admin.admin_results import (
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ConfigSource,
    ResourceType,
)
from kafka_zk.protocol.errors import UnknownTopicOrPartition
from kafka_zk.tools.common.failures import FAILURES
from kafka_zk.tools.common.java_output import message_of
from kafka_zk.tools.reassign_partitions import moves
from kafka_zk.tools.reassign_partitions.spread_options import Change
from kafka_zk.tools.reassign_partitions.throttles import broker, deleted, set_to

if TYPE_CHECKING:
    from kafka_zk.client.admin.admin_client import AdminClient

RATES = (moves.LEADER_RATE, moves.FOLLOWER_RATE)
EVERYTHING = "*"


class Throttle:
    """One run's throttle, bytes a second for each broker."""

    def __init__(self, admin: AdminClient, rate: int) -> None:
        self._admin = admin
        self._value = str(rate)
        self._brokers: list[int] = []
        self._lists: dict[str, dict[str, str]] = {}

    def set(self, planned: Iterable[Change]) -> list[str]:
        """Blocks. Throttle these moves. Returns a sentence for each broker that has a rate of somebody else's."""
        planned = [change for change in planned if change.coming]
        told = []
        for broker_id in sorted({each for change in planned for each in (*change.before, *change.coming)}):
            if broker_id in self._brokers:
                continue
            resource = broker(broker_id)
            found = self._own_values(resource, ConfigSource.DYNAMIC_BROKER_CONFIG)
            others = {name: found[name] for name in RATES if name in found}
            if others:
                listed = ", ".join(f"{name}={value}" for name, value in others.items())
                told.append(f"Broker {broker_id} is throttled already ({listed}): that stays as it is.")
                continue
            self._admin.incremental_alter_configs({resource: [set_to(name, self._value) for name in RATES]})
            self._brokers.append(broker_id)
        by_topic: dict[str, list[Change]] = {}
        for change in planned:
            by_topic.setdefault(change.partition.topic, []).append(change)
        for topic, of_topic in by_topic.items():
            self._add(topic, of_topic)
        return told

    def _add(self, topic: str, planned: list[Change]) -> None:
        wanted = {
            moves.LEADER_REPLICAS: [f"{each.partition.partition}:{has}" for each in planned for has in each.before],
            moves.FOLLOWER_REPLICAS: [f"{each.partition.partition}:{to}" for each in planned for to in each.coming],
        }
        found = self._own_values(ConfigResource(ResourceType.TOPIC, topic), ConfigSource.DYNAMIC_TOPIC_CONFIG)
        added = {}
        for name, entries in wanted.items():
            present = set(found.get(name, "").split(","))
            missing = [each for each in entries if each not in present]
            if missing and EVERYTHING not in present:
                added[name] = ",".join(missing)
        if added:
            self._change(topic, [ConfigChange(name, ConfigOperation.APPEND, text) for name, text in added.items()])
            mine = self._lists.setdefault(topic, {})
            for name, text in added.items():
                mine[name] = f"{mine[name]},{text}" if name in mine else text

    def remove(self) -> list[str]:
        """Blocks. Take away what was set, unless somebody has changed it since.

        Returns a sentence for each broker that could not be asked.
        """
        for topic, mine in self._lists.items():
            self._change(topic, [ConfigChange(name, ConfigOperation.SUBTRACT, text) for name, text in mine.items()])
            resource = ConfigResource(ResourceType.TOPIC, topic)
            left = self._own_values(resource, ConfigSource.DYNAMIC_TOPIC_CONFIG)
            self._change(topic, [deleted(name) for name in mine if left.get(name) == ""])
        told = [sentence for sentence in map(self._release, self._brokers) if sentence]
        self._lists, self._brokers = {}, []
        return told

    def _release(self, broker_id: int) -> str:
        try:
            found = self._own_values(broker(broker_id), ConfigSource.DYNAMIC_BROKER_CONFIG)
            mine_still = [deleted(name) for name in RATES if found.get(name) == self._value]
            if mine_still:
                self._admin.incremental_alter_configs({broker(broker_id): mine_still})
        except FAILURES as error:
            return (
                f"The throttle of broker {broker_id} could not be removed ({message_of(error)}). Once it runs: "
                f"kafka-configs.sh --bootstrap-server HOST:PORT --entity-type brokers --entity-name {broker_id} "
                f"--alter --delete-config {','.join(RATES)}"
            )
        return ""

    def _change(self, topic: str, wanted: list[ConfigChange]) -> None:
        if not wanted:
            return
        try:
            self._admin.incremental_alter_configs({ConfigResource(ResourceType.TOPIC, topic): wanted})
        except UnknownTopicOrPartition:
            # Deleted while it moved; its configuration went with it.
            return

    def _own_values(self, resource: ConfigResource, source: ConfigSource) -> dict[str, str]:
        try:
            entries = self._admin.describe_configs([resource])[resource]
        except UnknownTopicOrPartition:
            return {}
        return {entry.name: entry.value or "" for entry in entries if entry.source == source}
