"""The configuration files that come with kafka_zk; `config/` of a checkout shows the same files.

Role        Finds them, in a checkout as in an installed package.
"""

from __future__ import annotations

from pathlib import Path

NAMES = (
    "consumer.properties",
    "log4j.properties",
    "producer.properties",
    "server.properties",
    "zookeeper.properties",
)


def shipped_config(name: str) -> Path:
    """The path of a file out of NAMES."""
    assert name in NAMES, f"{name} is not shipped"
    return Path(__file__).with_name(name)
