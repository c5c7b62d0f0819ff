"""What kafka-consumer-groups.sh asks of the cluster, with Java's exceptions for what goes wrong.

Role        Asks, through the admin client; each request waits up to --timeout.
Invariants  A failed future is an ExecutionException, and a RuntimeException around it where Apache's tool wraps it.
            Answers about partitions come in the order of a Java hash map.
Source      ConsumerGroupCommand.ConsumerGroupService.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeVar

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.coordinators import value_of
from kafka_zk.client.admin.group_results import (
    CommittedOffset,
    ConsumerGroupDescription,
    ConsumerGroupListing,
    ConsumerGroupState,
    GroupType,
)
from kafka_zk.client.admin.offset_listing import OffsetSpec
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.java_output import (
    awaited,
    copied_order,
    hash_order,
    illegal_argument,
    partition_order,
    runtime_error,
)
from kafka_zk.tools.common.java_values import java_integer, java_split
from kafka_zk.tools.common.options import Options
from kafka_zk.tools.consumer_groups.options import timeout_ms

CLIENT_ERRORS = (BrokerError, KafkaException)
Answer = TypeVar("Answer")


class Questions:
    """One run's client and timeout."""

    def __init__(self, options: Options, admin: AdminClient) -> None:
        self.options = options
        self.admin = admin

    @property
    def timeout_ms(self) -> int:
        """Raises OptionError, when it is first needed."""
        return timeout_ms(self.options)

    def groups(self) -> list[str]:
        """Blocks. The groups that --group or --all-groups names."""
        return self.all_groups() if self.options.has("all-groups") else self.options.texts("group")

    def all_groups(self) -> list[str]:
        """Blocks. List the ids of all groups."""
        return [group.group_id for group in wrapped(lambda: self.listings((), ()))]

    def listings(
        self, types: Collection[GroupType], states: Collection[ConsumerGroupState]
    ) -> list[ConsumerGroupListing]:
        """Blocks. In the order of a hash map. Raises JavaError."""
        patience = self.timeout_ms
        try:
            listed = self.admin.list_consumer_groups(states=states, types=types, timeout_ms=patience)
        except CLIENT_ERRORS as error:
            raise awaited(error) from error
        by_name = {group.group_id: group for group in listed}
        return [by_name[name] for name in hash_order(by_name)]

    def described(self, groups: Collection[str]) -> dict[str, ConsumerGroupDescription]:
        """Blocks. Raises JavaError for the first group that cannot be described."""
        found = {}
        for group, description in self.descriptions(groups).items():
            if isinstance(description, BrokerError | KafkaException):
                raise awaited(description) from description
            found[group] = description
        return found

    def descriptions(
        self, groups: Collection[str]
    ) -> dict[str, ConsumerGroupDescription | BrokerError | KafkaException]:
        """Blocks. Each group's description or error, in the order of the map that Java makes of them."""
        answers = self.admin.describe_consumer_groups(groups, timeout_ms=self.timeout_ms)
        return {group: answers[group] for group in copied_order(answers)}

    def committed(self, group: str) -> dict[TopicPartition, CommittedOffset]:
        """Blocks. Raises JavaError."""
        patience = self.timeout_ms

        def ask() -> dict[TopicPartition, CommittedOffset]:
            answers = self.admin.list_offsets_of_consumer_groups([group], timeout_ms=patience)
            return value_of(answers, group)

        found = wrapped(lambda: completed(ask))
        return {partition: found[partition] for partition in partition_order(found)}

    def log_end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Blocks. Raises JavaError."""
        return self.log_offsets(partitions, OffsetSpec.LATEST)

    def log_start_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Blocks. Raises JavaError."""
        return self.log_offsets(partitions, OffsetSpec.EARLIEST)

    def log_offsets(self, partitions: Iterable[TopicPartition], time_ms: int) -> dict[TopicPartition, int]:
        """Blocks. Offsets by time, -1 where no record is as late. Raises JavaError."""
        wanted = dict.fromkeys(partition_order(partitions), time_ms)
        found = {}
        for partition, listed in self.admin.list_offsets(wanted, timeout_ms=self.timeout_ms).items():
            if isinstance(listed, BrokerError | KafkaException):
                failure = awaited(listed)
                raise runtime_error(failure) from failure
            found[partition] = listed.offset
        return found

    def partitions_of(self, topics: Collection[str]) -> list[TopicPartition]:
        """Blocks. Every partition of `topics`. Raises JavaError, for what describes them."""
        described = completed(lambda: self.admin.describe_topics(list(topics), timeout_ms=self.timeout_ms))
        return [
            TopicPartition(name, each.partition)
            for name in hash_order(described)
            for each in described[name].partitions
        ]


def completed(ask: Callable[[], Answer]) -> Answer:
    """What `ask` answers. Raises JavaError, an ExecutionException, for what the client raises."""
    try:
        return ask()
    except CLIENT_ERRORS as error:
        raise awaited(error) from error


def wrapped(ask: Callable[[], Answer]) -> Answer:
    """What `ask` answers, its ExecutionException in a RuntimeException."""
    from kafka_zk.tools.common.java_output import JavaError

    try:
        return ask()
    except JavaError as error:
        if error.java_class != "java.util.concurrent.ExecutionException":
            raise
        raise runtime_error(error) from error


def topic_partitions(argument: str) -> list[TopicPartition]:
    """`topic:0,1,2` as partitions. Raises JavaError, an illegal argument."""
    parts = java_split(argument, ":")
    if len(parts) != 2:
        raise illegal_argument(f"Invalid topic arg '{argument}', expected topic name and partitions")
    return [TopicPartition(parts[0], _number(word, argument)) for word in java_split(parts[1], ",")]


def _number(word: str, argument: str) -> int:
    try:
        return java_integer(word)
    except ValueError:
        raise illegal_argument(f"Invalid partition '{word}' specified in topic arg '{argument}''") from None


def offsets_only(committed: Mapping[TopicPartition, CommittedOffset]) -> dict[TopicPartition, int]:
    return {partition: each.offset for partition, each in committed.items()}
