"""The throttle of --drain and --balance: what this run set, and nothing else, is removed again.

Role        Acts, through the admin client. A rate that a broker has already is somebody else's: it is neither changed
            nor removed. Replicas are added to the lists of a topic, and taken off them again.
Invariants  What may have been set is noted before it is asked for: an answer can be lost, and Ctrl-C comes any time.
            What could not be removed, for whatever reason, is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
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
        """Blocks. Throttle these moves. Returns a sentence for each broker that has a rate of somebody else's.

        A broker that is not alive can be told no rate, and neither sends nor receives.
        """
        planned = [change for change in planned if change.coming]
        told = []
        living = {node.id for node in self._admin.describe_cluster().nodes} if planned else set()
        for broker_id in sorted({each for change in planned for each in (*change.before, *change.coming)} & living):
            if broker_id in self._brokers:
                continue
            resource = broker(broker_id)
            found = self._own_values(resource, ConfigSource.DYNAMIC_BROKER_CONFIG)
            others = {name: found[name] for name in RATES if name in found}
            if others:
                listed = ", ".join(f"{name}={value}" for name, value in others.items())
                told.append(f"Broker {broker_id} is throttled already ({listed}): that stays as it is.")
                continue
            self._brokers.append(broker_id)
            self._admin.incremental_alter_configs({resource: [set_to(name, self._value) for name in RATES]})
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
            mine = self._lists.setdefault(topic, {})
            for name, text in added.items():
                mine[name] = f"{mine[name]},{text}" if name in mine else text
            self._change(topic, [ConfigChange(name, ConfigOperation.APPEND, text) for name, text in added.items()])

    def remove(self) -> list[str]:
        """Blocks. Take away what was set, unless somebody has changed it since.

        Returns a sentence for each topic and broker whose throttle could not be removed. Whoever interrupts it finds
        the rest in `left`.
        """
        told = []
        for topic in [*self._lists]:
            told += _reason(partial(self._take_off, topic), partial(_of_topic, topic))
            del self._lists[topic]
        for broker_id in [*self._brokers]:
            told += _reason(partial(self._release, broker_id), partial(_of_broker, broker_id))
            self._brokers.remove(broker_id)
        return told

    def left(self) -> list[str]:
        """A sentence for each topic and broker whose throttle is not removed yet."""
        is_there = "is still there"
        return [_of_topic(topic, is_there) for topic in self._lists] + [
            _of_broker(broker_id, is_there) for broker_id in self._brokers
        ]

    def _take_off(self, topic: str) -> None:
        mine = self._lists[topic]
        self._change(topic, [ConfigChange(name, ConfigOperation.SUBTRACT, text) for name, text in mine.items()])
        resource = ConfigResource(ResourceType.TOPIC, topic)
        left = self._own_values(resource, ConfigSource.DYNAMIC_TOPIC_CONFIG)
        self._change(topic, [deleted(name) for name in mine if left.get(name) == ""])

    def _release(self, broker_id: int) -> None:
        found = self._own_values(broker(broker_id), ConfigSource.DYNAMIC_BROKER_CONFIG)
        mine_still = [deleted(name) for name in RATES if found.get(name) == self._value]
        if mine_still:
            self._admin.incremental_alter_configs({broker(broker_id): mine_still})

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


def _reason(remove: Callable[[], None], sentence: Callable[[str], str]) -> list[str]:
    """Blocks. Why a throttle could not be removed, as a sentence; nothing where it was."""
    try:
        remove()
    except FAILURES as error:
        return [sentence(f"could not be removed ({message_of(error)})")]
    return []


def _of_broker(broker_id: int, what: str) -> str:
    return f"The throttle of broker {broker_id} {what}. Once it runs: {_deleting('brokers', str(broker_id), RATES)}"


def _of_topic(topic: str, what: str) -> str:
    return (
        f"The list of throttled replicas of topic {topic} {what}: {_deleting('topics', topic, moves.TOPIC_THROTTLES)}"
    )


def _deleting(entities: str, name: str, keys: Iterable[str]) -> str:
    return (
        f"kafka-configs.sh --bootstrap-server HOST:PORT --entity-type {entities} --entity-name {name} "
        f"--alter --delete-config {','.join(keys)}"
    )
