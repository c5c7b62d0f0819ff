"""Fetches committed offsets from other coordinators when metrics are scraped.

Role        Acts, with ordinary client requests, which an Apache broker answers, too.
Invariants  Blocks for TIMEOUT_MS at most, whichever broker does not answer. Keeps nothing between calls.
Source      ListGroups, OffsetFetch of all partitions (KIP-88, of several groups: KIP-709).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import gevent

from kafka_zk.metadata.peer_versions import PeerVersions
from kafka_zk.metadata.snapshot import Node
from kafka_zk.network.channel import BrokerChannel
from kafka_zk.network.errors import NetworkError
from kafka_zk.protocol.messages.list_groups import ListGroupsRequest
from kafka_zk.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from kafka_zk.protocol.types import TopicPartition

LIST_GROUPS_VERSION = 0
SEVERAL_GROUPS_VERSION = 8
ONE_GROUP_VERSION = 7
"""Of brokers before 3.0, which a cluster may have during an upgrade."""

GROUPS_PER_REQUEST = 50
"""Groups per request: a broker builds its response without yielding."""

TIMEOUT_MS = 2_000

log = logging.getLogger("kafka.coordinator.group.GroupLag")

Connect = Callable[[Node], BrokerChannel]
GroupOffsets = tuple[str, list[tuple[TopicPartition, int]]]
"""A group, and what it has committed."""


def committed_elsewhere(nodes: Sequence[Node], connect: Connect) -> Iterator[list[GroupOffsets] | None]:
    """Blocks. Yields for each of `nodes` what its groups have committed; None if it does not answer in time.

    All are asked at once, and each response is yielded as soon as it arrives.
    """
    asked = [gevent.spawn(_ask, node, connect) for node in nodes]
    try:
        missing = len(asked)
        for greenlet in gevent.iwait(asked, timeout=TIMEOUT_MS / 1000):
            missing -= 1
            yield greenlet.value
        for _ in range(missing):
            yield None
    finally:
        gevent.killall(asked, block=False)


def _ask(node: Node, connect: Connect) -> list[GroupOffsets] | None:
    """Blocks. Fetch the committed offsets of all groups of one broker; None on failure."""
    try:
        channel = connect(node)
    except NetworkError as error:
        log.warning("Could not connect to broker %d for committed offsets: %s", node.id, error)
        return None
    try:
        listed = channel.send(ListGroupsRequest(), LIST_GROUPS_VERSION, timeout_ms=TIMEOUT_MS)
        names = [group.group_id for group in listed.groups]
        version = PeerVersions.ask(channel, node).version_for(OffsetFetchRequest(), highest=SEVERAL_GROUPS_VERSION)
        if version < SEVERAL_GROUPS_VERSION:
            found = [_fetch_one(channel, name) for name in names]
        else:
            found = [
                offsets
                for start in range(0, len(names), GROUPS_PER_REQUEST)
                for offsets in _fetch(channel, names[start : start + GROUPS_PER_REQUEST])
            ]
    except NetworkError as error:
        log.warning("Could not fetch committed offsets from broker %d: %s", node.id, error)
        return None
    finally:
        channel.close()
    return found if not listed.error_code else None


def _fetch(channel: BrokerChannel, names: Iterable[str]) -> Iterator[GroupOffsets]:
    """Blocks. Fetch the committed offsets of these groups."""
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=name, topics=None) for name in names])
    for group in channel.send(request, SEVERAL_GROUPS_VERSION, timeout_ms=TIMEOUT_MS).groups:
        yield group.group_id, _committed(group.topics)


def _fetch_one(channel: BrokerChannel, name: str) -> GroupOffsets:
    """Blocks. Fetch the committed offsets of this group."""
    request = OffsetFetchRequest(group_id=name, topics=None)
    return name, _committed(channel.send(request, ONE_GROUP_VERSION, timeout_ms=TIMEOUT_MS).topics)


def _committed(topics: Iterable[Any]) -> list[tuple[TopicPartition, int]]:
    return [
        (TopicPartition(topic.name, each.partition_index), each.committed_offset)
        for topic in topics
        for each in topic.partitions
        if not each.error_code and each.committed_offset >= 0
    ]
