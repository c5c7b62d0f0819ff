"""A consumer's configuration as plain values.

Role        Pure.
Source      ConsumerConfig, FetchConfig, GroupRebalanceConfig.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_zk.client.config import ClientConfig
from kafka_zk.client.consumer.subscription_state import ResetStrategy
from kafka_zk.client.network.backoff import ExponentialBackoff, backoff_of
from kafka_zk.config.errors import ConfigException

READ_COMMITTED = 1
READ_UNCOMMITTED = 0


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """How records are fetched. Times in milliseconds, sizes in bytes."""

    min_bytes: int
    max_bytes: int
    max_wait_ms: int
    partition_max_bytes: int
    max_poll_records: int
    check_crcs: bool
    isolation_level: int
    rack: str
    retry_backoff_ms: int

    @property
    def read_committed(self) -> bool:
        return self.isolation_level == READ_COMMITTED


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Membership of a group. Times in milliseconds."""

    group_id: str
    group_instance_id: str | None
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    leaves_on_close: bool
    auto_commit_interval_ms: int | None
    request_timeout_ms: int
    retry_backoff: ExponentialBackoff


def fetch_settings(config: ClientConfig) -> FetchSettings:
    return FetchSettings(
        config.integer("fetch.min.bytes"),
        config.integer("fetch.max.bytes"),
        config.integer("fetch.max.wait.ms"),
        config.integer("max.partition.fetch.bytes"),
        config.integer("max.poll.records"),
        config.boolean("check.crcs"),
        READ_COMMITTED if config.text("isolation.level") == "read_committed" else READ_UNCOMMITTED,
        config.text("client.rack"),
        config.integer("retry.backoff.ms"),
    )


def group_settings(config: ClientConfig) -> GroupSettings | None:
    """None without group.id. Raises ConfigException for values that do not fit together."""
    group_id = config.given("group.id")
    auto_commit = config.boolean("enable.auto.commit")
    if group_id is None:
        return None
    instance_id = config.given("group.instance.id")
    if config.text("group.protocol").lower() != "classic":
        raise ConfigException(
            "group.protocol=CONSUMER cannot be used: clusters in ZooKeeper mode only support the classic protocol"
        )
    heartbeat_ms, session_ms = config.integer("heartbeat.interval.ms"), config.integer("session.timeout.ms")
    if heartbeat_ms >= session_ms:
        raise ConfigException("Heartbeat must be set lower than the session timeout")
    return GroupSettings(
        str(group_id),
        None if instance_id is None else str(instance_id),
        session_ms,
        heartbeat_ms,
        config.integer("max.poll.interval.ms"),
        config.boolean("internal.leave.group.on.close"),
        config.integer("auto.commit.interval.ms") if auto_commit else None,
        config.integer("request.timeout.ms"),
        backoff_of(config, "retry.backoff"),
    )


def reset_strategy(config: ClientConfig) -> ResetStrategy:
    return ResetStrategy[config.text("auto.offset.reset").upper()]
