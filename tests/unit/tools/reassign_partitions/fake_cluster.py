"""A cluster as an admin client sees it, whose moves arrive when they are looked at often enough. Nothing waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kafka_zk.client.admin.admin_results import (
    ClusterDescription,
    ConfigChange,
    ConfigEntry,
    ConfigOperation,
    ConfigResource,
    Node,
    PartitionReassignment,
    TopicDescription,
    TopicListing,
    TopicPartitionInfo,
)
from kafka_zk.client.admin.log_dirs import LogDirDescription, Replica, ReplicaInfo
from kafka_zk.client.errors import TimeoutException
from kafka_zk.protocol.errors import BrokerError, NoReassignmentInProgress, ReplicaNotAvailable, UnknownTopicOrPartition
from kafka_zk.protocol.types import NULL_UUID, TopicPartition

LOOKS = 3
"""How often a move is seen under way before it has arrived."""


class FakeCluster:
    """`events` by the number of the look at which they happen."""

    def __init__(
        self, assignment: Mapping[TopicPartition, Sequence[int]], brokers: Sequence[int], size: int = 1000
    ) -> None:
        self.assignment = {each: tuple(replicas) for each, replicas in assignment.items()}
        self.living = set(brokers)
        self.directories = {broker: ["/a", "/b"] for broker in brokers}
        self.size = size
        self.moving: dict[TopicPartition, tuple[tuple[int, ...], int]] = {}
        self.configs: dict[ConfigResource, dict[str, str]] = {}
        self.asked_directories: dict[Replica, str] = {}
        self.elected: list[TopicPartition] = []
        self.begun: list[list[TopicPartition]] = []
        self.throttled_while_moving: list[dict[ConfigResource, dict[str, str]]] = []
        self.looks = 0
        self.events: dict[int, Callable[[], None]] = {}
        self.stuck: set[int] = set()

    # --- what is looked at --------------------------------------------------------------------------------------------

    def describe_cluster(self) -> ClusterDescription:
        return ClusterDescription("id", 1, [Node(each, "h", 1, None) for each in sorted(self.living)])

    def list_topics(self, *, internal: bool) -> list[TopicListing]:
        return [TopicListing(name, NULL_UUID, False) for name in sorted({each.topic for each in self.assignment})]

    def describe_each_topic(self, names: Sequence[str]) -> dict[str, TopicDescription | BrokerError]:
        return {
            name: TopicDescription(
                name,
                NULL_UUID,
                False,
                [
                    TopicPartitionInfo(each.partition, replicas[0], replicas, replicas)
                    for each, replicas in self.assignment.items()
                    if each.topic == name
                ],
            )
            for name in names
        }

    def describe_log_dirs(self, broker_ids: Sequence[int]) -> dict[int, dict[str, LogDirDescription]]:
        return {
            broker: {
                path: LogDirDescription(
                    None,
                    {
                        each: ReplicaInfo(self.size, 0, False)
                        for each, replicas in self.assignment.items()
                        if broker in replicas and path == self.directories[broker][0]
                    },
                    None,
                    None,
                )
                for path in self.directories[broker]
            }
            for broker in broker_ids
        }

    def list_partition_reassignments(
        self, partitions: Sequence[TopicPartition] | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        if self.moving:
            self.throttled_while_moving.append({each: dict(values) for each, values in self.configs.items() if values})
        self.looks += 1
        self.events.pop(self.looks, lambda: None)()
        found = {}
        for each, (target, seen) in [*self.moving.items()]:
            adding = [broker for broker in target if broker not in self.assignment[each]]
            if seen >= LOOKS and not self.stuck & set(adding) and self.living.issuperset(adding):
                self.assignment[each] = target
                del self.moving[each]
                continue
            self.moving[each] = (target, seen + 1)
            if partitions is None or each in partitions:
                removing = [broker for broker in self.assignment[each] if broker not in target]
                found[each] = PartitionReassignment([*target, *removing], adding, removing)
        return found

    # --- what is changed ----------------------------------------------------------------------------------------------

    def alter_partition_reassignments(
        self, wanted: Mapping[TopicPartition, Sequence[int] | None]
    ) -> dict[TopicPartition, BrokerError | None]:
        outcomes: dict[TopicPartition, BrokerError | None] = {}
        begun = []
        for each, replicas in wanted.items():
            outcomes[each] = None
            if each not in self.assignment:
                outcomes[each] = UnknownTopicOrPartition()
            elif replicas is not None:
                self.moving[each] = (tuple(replicas), 0)
                begun.append(each)
            elif self.moving.pop(each, None) is None:
                outcomes[each] = NoReassignmentInProgress()
        if begun:
            self.begun.append(begun)
        return outcomes

    def alter_replica_log_dirs(self, wanted: Mapping[Replica, str]) -> dict[Replica, BrokerError | None]:
        self.asked_directories.update(wanted)
        return {each: ReplicaNotAvailable() for each in wanted}

    def elect_leaders(self, _: object, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, None]:
        self.elected += partitions
        return {}

    def describe_configs(self, resources: Sequence[ConfigResource]) -> dict[ConfigResource, list[ConfigEntry]]:
        (resource,) = resources
        self._check(resource)
        source = 1 if resource.type == 2 else 2
        return {
            resource: [
                ConfigEntry(name, value, source, False, False) for name, value in self.configs.get(resource, {}).items()
            ]
        }

    def incremental_alter_configs(self, changes: Mapping[ConfigResource, Sequence[ConfigChange]]) -> None:
        for resource, wanted in changes.items():
            self._check(resource)
            values = self.configs.setdefault(resource, {})
            for change in wanted:
                old = [each for each in values.get(change.name, "").split(",") if each]
                new = (change.value or "").split(",")
                if change.operation == ConfigOperation.SET:
                    values[change.name] = change.value or ""
                elif change.operation == ConfigOperation.DELETE:
                    values.pop(change.name, None)
                elif change.operation == ConfigOperation.APPEND:
                    values[change.name] = ",".join(dict.fromkeys([*old, *new]))
                else:
                    values[change.name] = ",".join(each for each in old if each not in new)

    def _check(self, resource: ConfigResource) -> None:
        if resource.type == 4 and int(resource.name) not in self.living:
            raise TimeoutException("Timed out waiting for a node assignment. Call: incrementalAlterConfigs")

    def set_configs(self) -> dict[ConfigResource, dict[str, str]]:
        return {each: values for each, values in self.configs.items() if values}
