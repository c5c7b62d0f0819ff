"""The assignors by the names that `partition.assignment.strategy` gives them.

Role        Pure.
Source      ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG, ConsumerPartitionAssignor.getAssignorInstances.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import cast

from kafka_zk.client.consumer.assignors.model import Assignor
from kafka_zk.client.consumer.assignors.range import RangeAssignor
from kafka_zk.client.consumer.assignors.round_robin import RoundRobinAssignor
from kafka_zk.client.consumer.assignors.sticky import CooperativeStickyAssignor, StickyAssignor
from kafka_zk.client.errors import KafkaException
from kafka_zk.config.errors import ConfigException

_JAVA_PACKAGE = "org.apache.kafka.clients.consumer."
_OURS: tuple[Callable[[], Assignor], ...] = (
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    CooperativeStickyAssignor,
)
_BY_CLASS: dict[str, Callable[[], Assignor]] = {
    _JAVA_PACKAGE + made.__name__: made for made in _OURS if isinstance(made, type)
}


def assignors_by_class_name(names: Sequence[object]) -> list[Assignor]:
    """One assignor for each name: a class of Java's, `module:Class` of a program's own, or an assignor itself.

    Raises ConfigException for anything else, KafkaException for two of one name.
    """
    found: list[Assignor] = []
    for name in names:
        assignor = _one(name)
        if any(other.name == assignor.name for other in found):
            raise KafkaException(
                f"The assignor name: '{assignor.name}' is used in more than one assignor: {type(assignor).__name__}"
            )
        found.append(assignor)
    return found


def _one(name: object) -> Assignor:
    if not isinstance(name, str):
        return cast(Assignor, name() if isinstance(name, type) else name)
    if name in _BY_CLASS:
        return _BY_CLASS[name]()
    module, _, attribute = name.partition(":")
    try:
        made = cast(Assignor, getattr(importlib.import_module(module), attribute)())
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigException(
            f"Invalid value {name} for configuration partition.assignment.strategy: Class {name} could not be found."
        ) from error
    return made
