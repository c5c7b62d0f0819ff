"""Clients of a cluster, on plain sockets: for your programs, the command-line tools and the pipeline.

    from kafka_zk.client import AdminClient, KafkaConsumer, KafkaProducer

Each is imported when it is first asked for: a producer does not pay for the consumer.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafka_zk.client.admin.admin_client import AdminClient
    from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
    from kafka_zk.client.producer.kafka_producer import KafkaProducer

__all__ = ["AdminClient", "KafkaConsumer", "KafkaProducer"]

_MODULES = {
    "AdminClient": "admin.admin_client",
    "KafkaConsumer": "consumer.kafka_consumer",
    "KafkaProducer": "producer.kafka_producer",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
