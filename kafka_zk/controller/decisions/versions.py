"""Which version of each controller request an inter.broker.protocol.version uses.

Role        Pure. The controller never asks a broker for its ApiVersions: the configured protocol version decides.
Source      MetadataVersion; AbstractControllerBrokerRequestBatch.sendRequestsToBrokers.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_zk.config.metadata_version import MetadataVersion

# (oldest protocol version, request version): the first row that is not newer wins. 0.8.0 serves everything older.
LEADER_AND_ISR = (
    ("3.4-IV0", 7), ("3.2-IV0", 6), ("2.8-IV1", 5), ("2.4-IV1", 4), ("2.4-IV0", 3), ("2.2-IV0", 2), ("1.0-IV0", 1),
    ("0.8.0", 0),
)  # fmt: skip
UPDATE_METADATA = (
    ("3.4-IV0", 8), ("2.8-IV1", 7), ("2.4-IV1", 6), ("2.2-IV0", 5), ("1.0-IV0", 4), ("0.10.2-IV0", 3),
    ("0.10.0-IV1", 2), ("0.9.0", 1), ("0.8.0", 0),
)  # fmt: skip
STOP_REPLICA = (("3.4-IV0", 4), ("2.6-IV0", 3), ("2.4-IV1", 2), ("2.2-IV0", 1), ("0.8.0", 0))
CONTROLLED_SHUTDOWN = (("2.4-IV1", 3), ("2.2-IV0", 2), ("0.8.0", 1))


def _pick(table: tuple[tuple[str, int], ...], version: MetadataVersion) -> int:
    return next(api_version for since, api_version in table if version.is_at_least(since))


@dataclass(frozen=True, slots=True)
class RequestVersions:
    """The versions and abilities that one inter.broker.protocol.version means."""

    leader_and_isr: int
    update_metadata: int
    stop_replica: int
    controlled_shutdown: int
    has_topic_ids: bool
    has_leader_recovery: bool
    """Whether an unclean election says so in the partition's state (KIP-704)."""
    feature_znode_version: int | None
    """Version of the JSON in /feature; None: this protocol has no feature versioning."""

    @classmethod
    def of(cls, version: MetadataVersion) -> RequestVersions:
        feature_znode_version = 2 if version.is_at_least("3.3-IV0") else 1
        return cls(
            leader_and_isr=_pick(LEADER_AND_ISR, version),
            update_metadata=_pick(UPDATE_METADATA, version),
            stop_replica=_pick(STOP_REPLICA, version),
            controlled_shutdown=_pick(CONTROLLED_SHUTDOWN, version),
            has_topic_ids=version.is_at_least("2.8-IV0"),
            has_leader_recovery=version.is_at_least("3.2-IV0"),
            feature_znode_version=feature_znode_version if version.is_at_least("2.7-IV0") else None,
        )
