"""The options of `kafka_zk_log`.

Role        Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kafka_zk.spark.sources.errors import SourceOptionError
from kafka_zk.spark.sources.log.directories import read_paths
from kafka_zk.spark.sources.offset_limits import Kind, OffsetLimit, Side, check_batch_limits, read_limit
from kafka_zk.spark.sources.options import client_properties, read_flag
from kafka_zk.spark.sources.subscription import STRATEGIES, Subscription, read_subscription

ISOLATION = "isolation.level"


@dataclass(frozen=True, slots=True)
class LogSettings:
    """`subscription` is everything that lies there where no option chooses."""

    paths: tuple[Path, ...]
    subscription: Subscription
    start: OffsetLimit
    end: OffsetLimit
    fail_on_data_loss: bool
    include_headers: bool
    read_committed: bool


def log_settings(options: Mapping[str, str]) -> LogSettings:
    """Raises SourceOptionError."""
    start = read_limit(options, Side.STARTING, Kind.EARLIEST)
    end = read_limit(options, Side.ENDING, Kind.LATEST)
    check_batch_limits(start, end)
    isolation = client_properties(options).get(ISOLATION, "read_uncommitted")
    if isolation not in ("read_uncommitted", "read_committed"):
        raise SourceOptionError(f"The option kafka.{ISOLATION} must be read_uncommitted or read_committed.")
    chosen = any(name in options for name in STRATEGIES)
    return LogSettings(
        paths=tuple(read_paths(options)),
        subscription=read_subscription(options) if chosen else Subscription(pattern=".*"),
        start=start,
        end=end,
        fail_on_data_loss=read_flag(options, "failOnDataLoss", default=True),
        include_headers=read_flag(options, "includeHeaders", default=False),
        read_committed=isolation == "read_committed",
    )
