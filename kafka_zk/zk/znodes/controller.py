"""Cluster-wide znodes: cluster id, controller, features, producer ids.

Role        Pure.
Source      kafka.zk.ClusterIdZNode, ControllerZNode, ControllerEpochZNode, FeatureZNode, ProducerIdBlockZNode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_zk.zk.errors import MalformedZNode
from kafka_zk.zk.operations import Stat
from kafka_zk.zk.znodes import documents

NO_KRAFT_EPOCH = -1
FEATURES_ENABLED = 1
FEATURES_DISABLED = 0
MAX_PRODUCER_ID = 2**63 - 1


class ClusterIdZNode:
    """/cluster/id: 22 characters that name the cluster for ever."""

    PATH = "/cluster/id"

    @staticmethod
    def encode(cluster_id: str) -> bytes:
        return documents.write({"version": "1", "id": cluster_id})

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None = None) -> str:
        return documents.read(data, ClusterIdZNode.PATH, lambda document: documents.text(document["id"]))


@dataclass(frozen=True, slots=True)
class ControllerRegistration:
    """The controller. `zk_version` is the znode's version (not written): what a fenced config write checks."""

    broker_id: int
    timestamp_ms: int
    kraft_controller_epoch: int = NO_KRAFT_EPOCH
    zk_version: int = -1


class ControllerZNode:
    """/controller, ephemeral."""

    PATH = "/controller"

    @staticmethod
    def encode(registration: ControllerRegistration) -> bytes:
        return documents.write(
            {
                "version": 2,
                "brokerid": registration.broker_id,
                "timestamp": str(registration.timestamp_ms),
                "kraftControllerEpoch": registration.kraft_controller_epoch,
            }
        )

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None = None) -> ControllerRegistration:
        """Raises MalformedZNode. Version 1 has no KRaft epoch."""

        def build(document: dict[str, Any]) -> ControllerRegistration:
            return ControllerRegistration(
                broker_id=documents.integer(document["brokerid"]),
                timestamp_ms=int(document.get("timestamp", -1)),
                kraft_controller_epoch=documents.integer(document.get("kraftControllerEpoch", NO_KRAFT_EPOCH)),
                zk_version=stat.version if stat else -1,
            )

        return documents.read(data, ControllerZNode.PATH, build)


class ControllerEpochZNode:
    """/controller_epoch: a number in decimal; every controller's writes check the znode's version."""

    PATH = "/controller_epoch"

    @staticmethod
    def encode(controller_epoch: int) -> bytes:
        return str(controller_epoch).encode()

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None = None) -> int:
        try:
            return documents.epoch(int(data or b""))
        except ValueError as error:
            raise MalformedZNode(ControllerEpochZNode.PATH, f"Not a controller epoch: {data!r}") from error


@dataclass(frozen=True, slots=True)
class FeatureState:
    """The finalized features: name to highest level. Version 1 also wrote the lowest level, always 1 here."""

    status: int = FEATURES_ENABLED
    features: Mapping[str, int] = field(default_factory=dict)
    version: int = 2


class FeatureZNode:
    """/feature; its version is the epoch of the finalized features."""

    PATH = "/feature"

    @staticmethod
    def encode(state: FeatureState) -> bytes:
        lowest = {"min_version_level": 1} if state.version == 1 else {}
        features = {name: {**lowest, "max_version_level": level} for name, level in state.features.items()}
        return documents.write({"version": state.version, "status": state.status, "features": features})

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None = None) -> FeatureState:
        """Raises MalformedZNode, also for an unknown version or status."""

        def build(document: dict[str, Any]) -> FeatureState:
            version = documents.integer(document["version"])
            status = documents.integer(document["status"])
            if version not in (1, 2) or status not in (FEATURES_ENABLED, FEATURES_DISABLED):
                raise ValueError(f"version {version}, status {status}")
            levels = {
                name: documents.integer(value["max_version_level"]) for name, value in document["features"].items()
            }
            return FeatureState(status, levels, version)

        return documents.read(data, FeatureZNode.PATH, build)


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    """Producer ids `first` to `last`, both included, given to one broker."""

    broker_id: int
    first: int
    last: int


class ProducerIdBlockZNode:
    """/latest_producer_id_block: the block given out last; no data before the first one."""

    PATH = "/latest_producer_id_block"

    @staticmethod
    def encode(block: ProducerIdBlock) -> bytes:
        return documents.write(
            {"version": 1, "broker": block.broker_id, "block_start": str(block.first), "block_end": str(block.last)}
        )

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None = None) -> ProducerIdBlock | None:
        """None before the first block. Raises MalformedZNode."""
        if not data:
            return None

        def build(document: dict[str, Any]) -> ProducerIdBlock:
            first, last = int(document["block_start"]), int(document["block_end"])
            if max(first, last) > MAX_PRODUCER_ID:
                raise ValueError("producer ids beyond 64 bits")
            return ProducerIdBlock(documents.integer(document["broker"]), first, last)

        return documents.read(data, ProducerIdBlockZNode.PATH, build)
