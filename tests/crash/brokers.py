"""The three configurations of the broker that lives."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kafka_zk.config.broker import BrokerConfig

COMMON = {"zookeeper.connect": "localhost:2181", "transaction.partition.verification.enable": "false"}
"""Transactions begin without a coordinator: there is none."""


@cache
def broker_on(folder: Path) -> BrokerConfig:
    return BrokerConfig.from_properties({**COMMON, "log.dirs": str(folder), "log.cleaner.enable": "false"})


@cache
def compacting_broker_on(folder: Path) -> BrokerConfig:
    return BrokerConfig.from_properties(
        {
            **COMMON,
            "log.dirs": str(folder),
            "log.cleaner.backoff.ms": "1000",
            "log.cleaner.dedupe.buffer.size": "2097152",
        }
    )


@cache
def moving_broker_on(folder: Path) -> BrokerConfig:
    directories = ",".join(str(folder / name) for name in ("a", "b"))
    return BrokerConfig.from_properties({**COMMON, "log.dirs": directories, "log.cleaner.enable": "false"})
