"""The layers a broker config can come from: properties file, dynamic default, dynamic broker; with Kafka's synonyms.

Role        Pure.
Invariants  The stronger layer wins as a whole family: a dynamic log.retention.ms hides log.retention.hours of the file.
Source      DynamicBrokerConfig.brokerConfigSynonyms, overrideProps; KafkaConfig.populateSynonyms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_FAMILIES = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_FAMILY_OF = {name: family for family in _FAMILIES for name in family}
_FAMILY_OF["log.flush.interval.ms"] = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
_LISTENER_KEY = re.compile(r"listener\.name\.[^.]*\.(.*)")

_OF_MECHANISMS = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)
"""Listeners have these for each mechanism: listener.name.<listener>.<mechanism>.<key>."""

PER_LISTENER = ("max.connections", "max.connection.creation.rate", "num.network.threads")
"""Keys that a listener may have a value of its own for. Those of security aside, Kafka reads no others."""


def synonyms_of(name: str, *, with_listener_prefix: bool = False) -> tuple[str, ...]:
    """Keys that say the same as `name`, the strongest first; for a listener's own key also the general one."""
    if name in _FAMILY_OF:
        return _FAMILY_OF[name]
    match = _LISTENER_KEY.fullmatch(name) if with_listener_prefix else None
    if match is None:
        return (name,)
    return name, next((base for base in _OF_MECHANISMS if match[1].endswith(base)), match[1])


def listener_key(listener_name: str, name: str) -> str:
    """The key that gives `name` a value for one listener."""
    return f"listener.name.{listener_name.lower()}.{name}"


def listener_key_base(name: str) -> str:
    """The general key of a listener's own one; any other key is its own."""
    match = _LISTENER_KEY.fullmatch(name)
    return match[1] if match else name


@dataclass(frozen=True, slots=True)
class Layers:
    """The user's texts, layer by layer; `static` has both ids, `given` tells which keys the file really has."""

    static: Mapping[str, str]
    dynamic_default: Mapping[str, str] = field(default_factory=dict)
    dynamic_broker: Mapping[str, str] = field(default_factory=dict)
    given: frozenset[str] = frozenset()

    def effective(self) -> dict[str, str]:
        """The texts that count, the strongest layer last applied."""
        properties = dict(self.static)
        for layer in (self.dynamic_default, self.dynamic_broker):
            for name, value in layer.items():
                for synonym in synonyms_of(name):
                    properties.pop(synonym, None)
                properties[name] = value
        return properties


def with_both_ids(properties: Mapping[str, str]) -> dict[str, str]:
    """`properties` with broker.id and node.id, where either was given."""
    filled = dict(properties)
    if "broker.id" in filled:
        filled.setdefault("node.id", filled["broker.id"])
    elif "node.id" in filled:
        filled["broker.id"] = filled["node.id"]
    return filled
