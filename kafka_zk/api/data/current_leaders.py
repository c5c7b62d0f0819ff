"""Returns the current leader to a client that asked the wrong broker (KIP-951).

Role        Collects, for one response, the leaders of the partitions that were refused, and their addresses.
Source      Kafka 3.9 KafkaApis.getCurrentLeader; Produce v10+, Fetch v16+.
"""

from __future__ import annotations

from kafka_zk.api.request_context import RequestContext
from kafka_zk.metadata.snapshot import Node


class CurrentLeaders:
    """`nodes`: the leaders seen so far that are alive on the client's listener, without duplicates."""

    __slots__ = ("_ctx", "nodes")

    def __init__(self, ctx: RequestContext) -> None:
        self._ctx = ctx
        self.nodes: dict[int, Node] = {}

    def of(self, topic: str, index: int) -> tuple[int, int]:
        """Leader id and leader epoch, -1 and -1 when unknown."""
        services = self._ctx.services
        leader_id, leader_epoch = services.replica_manager.current_leader(topic, index)
        node = services.metadata_cache.node(leader_id, self._ctx.listener_name)
        if node is not None:
            self.nodes[node.id] = node
        return leader_id, leader_epoch
