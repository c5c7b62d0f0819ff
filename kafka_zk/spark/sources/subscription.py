"""Which partitions a query reads: the options assign, subscribe and subscribePattern.

Role        Pure.
Source      Spark 4.2 KafkaSourceProvider.validateGeneralOptions, strategy; JsonUtils.partitions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.sources.errors import SourceOptionError

ASSIGN = "assign"
SUBSCRIBE = "subscribe"
SUBSCRIBE_PATTERN = "subscribePattern"
STRATEGIES = (SUBSCRIBE, SUBSCRIBE_PATTERN, ASSIGN)


@dataclass(frozen=True, slots=True)
class Subscription:
    """One of the three is set."""

    topics: tuple[str, ...] = ()
    pattern: str = ""
    assigned: tuple[TopicPartition, ...] = ()

    def matches(self, topic: str) -> bool:
        """Whether a topic is wanted, or some of its partitions are."""
        if self.pattern:
            return re.fullmatch(self.pattern, topic) is not None
        return topic in self.topics or any(each.topic == topic for each in self.assigned)

    def has(self, partition: TopicPartition) -> bool:
        """Whether a partition is wanted."""
        return partition in self.assigned if self.assigned else self.matches(partition.topic)

    def __str__(self) -> str:
        if self.assigned:
            return f"assign {', '.join(map(str, self.assigned))}"
        return f"subscribePattern {self.pattern}" if self.pattern else f"subscribe {', '.join(self.topics)}"


def read_subscription(options: Mapping[str, str]) -> Subscription:
    """`options` look their names up without regard to case. Raises SourceOptionError."""
    given = [name for name in STRATEGIES if name in options]
    if not given:
        raise SourceOptionError(f"One of the options {', '.join(STRATEGIES)} is required.")
    if len(given) > 1:
        raise SourceOptionError(
            f"Only one of the options {', '.join(STRATEGIES)} can be given, not {', '.join(given)}."
        )
    text = options[given[0]].strip()
    if given[0] == ASSIGN:
        assigned = tuple(sorted(_read_assignment(text)))
        if not assigned:
            raise SourceOptionError(f"The option assign names no partitions: {text!r}")
        return Subscription(assigned=assigned)
    if given[0] == SUBSCRIBE_PATTERN:
        if not text:
            raise SourceOptionError("The option subscribePattern is empty.")
        try:
            re.compile(text)
        except re.error as error:
            raise SourceOptionError(
                f"The option subscribePattern is not a valid regular expression: {error}"
            ) from error
        return Subscription(pattern=text)
    topics = tuple(dict.fromkeys(topic.strip() for topic in text.split(",") if topic.strip()))
    if not topics:
        raise SourceOptionError(f"The option subscribe names no topics: {text!r}")
    return Subscription(topics=topics)


def _read_assignment(text: str) -> list[TopicPartition]:
    wrong = SourceOptionError(f'The option assign must be JSON like {{"topicA":[0,1],"topicB":[2,4]}}, not {text}')
    try:
        content = json.loads(text)
    except ValueError:
        raise wrong from None
    if not isinstance(content, dict):
        raise wrong
    partitions = []
    for topic, indexes in content.items():
        if not isinstance(indexes, list) or not all(type(index) is int and index >= 0 for index in indexes):
            raise wrong
        partitions += [TopicPartition(topic, index) for index in indexes]
    return partitions
