"""The controller's access to ZooKeeper: batched reads, and writes fenced by the controller epoch.

Role        Acts, through the ZooKeeper session.
Invariants  Every write is a multi that first checks the version of /controller_epoch, in the election's session.
            A failed check raises ControllerMoved; a lost session raises SessionExpired. Each write of a batch is a
            multi of its own: the batch is not atomic. Only the znodes of new partitions are created several at a time,
            or, if that fails, one by one. After a lost reply the session finds out: a write of ours
            that was applied counts as written.
            Reads of watched paths arm their watches. A znode that cannot be read is logged and counts as missing.
Source      KafkaZkClient.retryRequestsUntilConnected(requests, expectedControllerEpochZkVersion).
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from kafka_zk.controller.decisions.assignment import ReplicaAssignment
from kafka_zk.controller.decisions.context import Broker, Leadership
from kafka_zk.controller.errors import StateChangeFailed
from kafka_zk.giving_way import in_slices
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk import znodes
from kafka_zk.zk.errors import BadVersion, ControllerMoved, MalformedZNode, NoAuth, NoNode, ZkError
from kafka_zk.zk.operations import Check, Create, Delete, Operation, SetData, Stat
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.watches import Kind

log = logging.getLogger("kafka.controller.KafkaController")

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

UNCLEAN_CONFIG = "unclean.leader.election.enable"

DELETES_AT_ONCE = 1_000
"""A topic of a hundred thousand partitions is deleted neither one znode at a time nor with all of them in memory."""

CREATED_AT_ONCE = 16
"""Partitions whose znodes one request creates: some 10 KB, which every ensemble takes (zk/sending.py, LARGE_BYTES)."""


@dataclass(frozen=True, slots=True)
class TopicInZk:
    """A topic's znode; `topic_id` None: written by a protocol without ids."""

    topic_id: uuid.UUID | None
    assignments: dict[int, ReplicaAssignment]


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """The results of conditional state writes."""

    written: dict[TopicPartition, Leadership] = field(default_factory=dict)
    """With the partition epoch that the write gave them."""
    conflicts: list[TopicPartition] = field(default_factory=list)
    """The znode had another version: read again."""
    failed: dict[TopicPartition, BrokerError] = field(default_factory=dict)


class FencedStore:
    """Reads and fenced writes for the controller with `epoch_zk_version`, elected in session `generation`."""

    def __init__(self, zk: ZkClient, *, epoch_zk_version: int, generation: int) -> None:
        self._zk = zk
        self._fence = Check(znodes.ControllerEpochZNode.PATH, epoch_zk_version)
        self._generation = generation

    # Watches

    def watch(self, path: str, kind: Kind, mark_dirty: Callable[[], None]) -> None:
        self._zk.watch(path, kind, mark_dirty)

    def unwatch(self, path: str, kind: Kind) -> None:
        self._zk.unwatch(path, kind)

    # Election

    def set_up_features(self, json_version: int) -> None:
        """Blocks. Make /feature say that this cluster has finalized no features, keeping those that were finalized."""
        path = znodes.FeatureZNode.PATH
        try:
            data, stat = self._zk.get(path)
        except NoNode:
            state = znodes.FeatureState(version=json_version)
            self._one(Create(path, znodes.FeatureZNode.encode(state)))
            return
        found = znodes.FeatureZNode.decode(data, stat)
        kept = found.features if found.status else {}
        wanted = znodes.FeatureState(features=kept, version=json_version)
        if wanted != found:
            self._one(SetData(path, znodes.FeatureZNode.encode(wanted)))

    def resign(self) -> None:
        """Blocks. Delete /controller, so that a new controller is elected."""
        self._one(Delete(znodes.ControllerZNode.PATH), ignore=NoNode)

    # Brokers

    def compatible_brokers(self) -> dict[int, Broker]:
        """Blocks. The registered brokers, without those that do not support every finalized feature."""
        ids = znodes.BrokerIdsZNode.ids(self._zk.children(znodes.BrokerIdsZNode.PATH))
        found = self._read(ids, znodes.BrokerIdZNode.path, znodes.BrokerIdZNode.decode)
        finalized = self._finalized_features()
        compatible = {}
        for broker_id, broker in found.items():
            levels = {name: broker.features.get(name, (0, 0)) for name in finalized}
            if all(low <= finalized[name] <= high for name, (low, high) in levels.items()):
                compatible[broker_id] = broker
            else:
                log.warning(
                    "Ignoring registration of new brokers due to incompatibilities with finalized features: %d",
                    broker_id,
                )
        return compatible

    def _finalized_features(self) -> Mapping[str, int]:
        try:
            return znodes.FeatureZNode.decode(*self._zk.get(znodes.FeatureZNode.PATH)).features
        except NoNode:
            return {}

    def brokers(self, broker_ids: Iterable[int]) -> dict[int, Broker]:
        """Blocks. Those of `broker_ids` that are registered."""
        return self._read(list(broker_ids), znodes.BrokerIdZNode.path, znodes.BrokerIdZNode.decode)

    # Topics

    def topics(self) -> list[str]:
        """Blocks. All topic names."""
        return self._zk.children(znodes.TopicsZNode.PATH)

    def topic_assignments(self, topics: Sequence[str]) -> dict[str, TopicInZk]:
        """Blocks. Those of `topics` that exist."""
        found = self._read(list(topics), znodes.TopicZNode.path, znodes.TopicZNode.decode)
        return {topic: _topic_in_zk(assignment) for topic, assignment in found.items()}

    def write_topic(
        self,
        topic: str,
        topic_id: uuid.UUID | None,
        assignments: Mapping[int, ReplicaAssignment],
        *,
        drops_others: bool = False,
    ) -> bool:
        """Blocks. Write these partitions of a topic; False if it is gone, or another topic has taken its name.

        Partitions that were added meanwhile stay, unless it `drops_others`.
        Differs from Kafka: it replaces the whole znode, whatever was written since it was read.
        """
        path = znodes.TopicZNode.path(topic)
        ours = {index: znodes.PartitionReplicas(a.replicas, a.adding, a.removing) for index, a in assignments.items()}
        while True:
            try:
                data, stat = self._zk.get(path)
            except NoNode:
                return False
            nothing: Mapping[int, znodes.PartitionReplicas] = {}
            found = _or_empty(znodes.TopicZNode.decode, znodes.TopicAssignment(nothing), data, stat)
            if None not in (topic_id, found.topic_id) and topic_id != found.topic_id:
                return False
            partitions = ours if drops_others else {**found.partitions, **ours}
            wanted = znodes.TopicZNode.encode(znodes.TopicAssignment(partitions, topic_id))
            result = self._many([SetData(path, wanted, stat.version)])[0]
            if isinstance(result, BadVersion):
                continue
            if isinstance(result, ZkError) and not isinstance(result, NoNode):
                raise result
            return not isinstance(result, NoNode)

    def delete_topics(self, topics: Sequence[str]) -> dict[str, ZkError]:
        """Blocks. Remove what is below the topics, their overrides, then each topic with its deletion request.

        Takes as many round trips as one topic. Returns those that could not be removed; their requests stay.
        Differs from Kafka, which removes the overrides and the request after the topic: by then they may belong to
        a new topic of that name, which a request left behind would delete.
        """
        failed: dict[str, ZkError] = {}
        roots, *below = self._levels({znodes.TopicZNode.path(topic): topic for topic in topics})
        for level in reversed(below):
            self._remove(level, failed)
        self._remove({znodes.ConfigEntityZNode.path(f"topics/{topic}"): topic for topic in topics}, failed)
        # Those whose request or znode is gone, or must not be removed, are handled one by one.
        apart = self._remove_with_requests({path: topic for path, topic in roots.items() if topic not in failed})
        self._remove(apart, failed)
        self.remove_topic_deletions([topic for topic in apart.values() if topic not in failed])
        return failed

    def _remove_with_requests(self, topic_of: Mapping[str, str]) -> dict[str, str]:
        """Blocks. Delete each topic together with its request; returns those that could not be."""
        requests = [Delete(znodes.DeleteTopicsTopicZNode.path(topic)) for topic in topic_of.values()]
        done = self._multis([(Delete(path), request) for path, request in zip(topic_of, requests, strict=True)])
        return {
            path: topic
            for (path, topic), results in zip(topic_of.items(), done, strict=True)
            if any(isinstance(result, ZkError) for result in results)
        }

    def _remove(self, topic_of: Mapping[str, str], failed: dict[str, ZkError]) -> None:
        """Blocks. Delete those paths that are there, many at a time, of topics that have not `failed`."""
        wanted = [path for path, topic in topic_of.items() if topic not in failed]
        for first in range(0, len(wanted), DELETES_AT_ONCE):
            paths = wanted[first : first + DELETES_AT_ONCE]
            for path, result in zip(paths, self._many([Delete(path) for path in paths]), strict=True):
                if isinstance(result, ZkError) and not isinstance(result, NoNode):
                    failed[topic_of[path]] = result

    def _levels(self, roots: Mapping[str, str]) -> list[Mapping[str, str]]:
        """Blocks. `roots` (path to topic), their children, their children ..., with their topics."""
        levels = [roots]
        while levels[-1]:
            answers = self._zk.children_many(levels[-1])
            levels.append(
                {
                    f"{path}/{name}": topic
                    for (path, topic), names in zip(levels[-1].items(), answers, strict=True)
                    if not isinstance(names, ZkError)
                    for name in names
                }
            )
        return levels[:-1]

    def topics_allowing_unclean(self, topics: Sequence[str], *, default: bool) -> set[str]:
        """Blocks. Those of `topics` whose configuration (or else the default) allows unclean elections."""

        def path(topic: str) -> str:
            return znodes.ConfigEntityZNode.path(f"topics/{topic}")

        configs = self._read(list(topics), path, lambda data, stat, _: znodes.ConfigEntityZNode.decode(data, stat))
        texts = {topic: configs.get(topic, {}).get(UNCLEAN_CONFIG) for topic in topics}
        return {topic for topic, text in texts.items() if (default if text is None else text.strip().lower() == "true")}

    # Partition states

    def states(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Leadership]:
        """Blocks. The states of those of `partitions` that have one."""
        states = znodes.TopicPartitionStateZNode
        return self._read(list(partitions), states.path, states.decode)

    def states_and_zxids(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, tuple[Leadership, int]]:
        """Blocks. As `states`, each with the zxid of its znode's last change."""
        states = znodes.TopicPartitionStateZNode

        def decode(data: bytes | None, stat: Stat, partition: TopicPartition) -> tuple[Leadership, int]:
            return states.decode(data, stat, partition), stat.mzxid

        return self._read(list(partitions), states.path, decode)

    def create_states(self, wanted: Mapping[TopicPartition, Leadership]) -> dict[TopicPartition, BrokerError | None]:
        """Blocks. Create state znodes with their parents, in two rounds; None for each that was created."""
        topics = sorted({topic_partition.topic for topic_partition in wanted})
        self._many([Create(znodes.TopicPartitionsZNode.path(topic)) for topic in topics])
        partitions = list(wanted)
        groups = [partitions[at : at + CREATED_AT_ONCE] for at in range(0, len(partitions), CREATED_AT_ONCE)]
        done = self._multis([tuple(_creates_of(wanted, group)) for group in groups])
        failed: dict[TopicPartition, BrokerError | None] = {}
        for group, results in zip(groups, done, strict=True):
            if any(isinstance(result, ZkError) for result in results):
                failed |= self._create_one_by_one({each: wanted[each] for each in group})
        return {topic_partition: failed.get(topic_partition) for topic_partition in wanted}

    def _create_one_by_one(
        self, wanted: Mapping[TopicPartition, Leadership]
    ) -> dict[TopicPartition, BrokerError | None]:
        """Blocks. The same where some of the znodes are there, or must not be created: the others get theirs."""
        self._many([Create(znodes.TopicPartitionZNode.path(topic_partition)) for topic_partition in wanted])
        states = znodes.TopicPartitionStateZNode
        results = self._many(
            [Create(states.path(topic_partition), states.encode(state)) for topic_partition, state in wanted.items()]
        )
        return {
            topic_partition: result if isinstance(result, ZkError) else None
            for topic_partition, result in zip(wanted, results, strict=True)
        }

    def update_states(self, wanted: Mapping[TopicPartition, Leadership]) -> WriteOutcome:
        """Blocks. Write each state if its znode still has version `partition_epoch`."""
        states = znodes.TopicPartitionStateZNode
        outcome = WriteOutcome()
        results = self._many(
            [
                SetData(states.path(topic_partition), states.encode(state), state.partition_epoch)
                for topic_partition, state in wanted.items()
            ]
        )
        for (partition, state), result in zip(wanted.items(), results, strict=True):
            if isinstance(result, BadVersion):
                outcome.conflicts.append(partition)
            elif isinstance(result, ZkError):
                outcome.failed[partition] = result
            else:
                outcome.written[partition] = replace(state, partition_epoch=result.version)
        return outcome

    def bump_leader_epoch(self, partition: TopicPartition, *, controller_epoch: int) -> Leadership | None:
        """Blocks. Write the same state with the next leader epoch; None if the partition has no state.

        Raises StateChangeFailed if a later controller has written it.
        """
        while True:
            current = self.states([partition]).get(partition)
            if current is None:
                return None
            if current.controller_epoch > controller_epoch:
                raise StateChangeFailed(
                    f"The state of {partition} was written by another controller with epoch {current.controller_epoch}"
                )
            bumped = replace(current, leader_epoch=current.leader_epoch + 1, controller_epoch=controller_epoch)
            outcome = self.update_states({partition: bumped})
            if partition in outcome.failed:
                raise outcome.failed[partition]
            if partition in outcome.written:
                return outcome.written[partition]

    # Requests in /admin, and notifications

    def topic_deletions(self) -> list[str]:
        """Blocks. The topics in /admin/delete_topics."""
        return self._zk.children(znodes.DeleteTopicsZNode.PATH)

    def remove_topic_deletions(self, topics: Sequence[str]) -> None:
        """Blocks. Delete the topics' znodes in /admin/delete_topics."""
        self._many([Delete(znodes.DeleteTopicsTopicZNode.path(topic)) for topic in topics])

    def isr_change_notification_names(self) -> list[str]:
        """Blocks. List the children of /isr_change_notification."""
        return self._zk.children(znodes.IsrChangeNotificationZNode.PATH)

    def isr_change_notifications(self) -> tuple[list[str], list[TopicPartition]]:
        """Blocks. The notifications' names and the partitions they list."""
        names = self.isr_change_notification_names()
        found = self._read(
            names,
            lambda name: f"{znodes.IsrChangeNotificationZNode.PATH}/{name}",
            lambda data, stat, _: znodes.IsrChangeNotificationZNode.decode(data, stat),
        )
        return names, sorted({partition for partitions in found.values() for partition in partitions})

    def remove_isr_change_notifications(self, names: Sequence[str]) -> None:
        """Blocks. Delete these children of /isr_change_notification."""
        self._many([Delete(f"{znodes.IsrChangeNotificationZNode.PATH}/{name}") for name in names])

    def log_dir_event_names(self) -> list[str]:
        """Blocks. List the children of /log_dir_event_notification."""
        return self._zk.children(znodes.LogDirEventNotificationZNode.PATH)

    def log_dir_events(self) -> tuple[list[str], list[int]]:
        """Blocks. The events' names and the brokers they come from."""
        names = self.log_dir_event_names()
        found = self._read(
            names,
            lambda name: f"{znodes.LogDirEventNotificationZNode.PATH}/{name}",
            lambda data, stat, _: znodes.LogDirEventNotificationZNode.decode(data, stat),
        )
        return names, sorted(set(found.values()))

    def remove_log_dir_events(self, names: Sequence[str]) -> None:
        """Blocks. Delete these children of /log_dir_event_notification."""
        self._many([Delete(f"{znodes.LogDirEventNotificationZNode.PATH}/{name}") for name in names])

    def preferred_elections(self) -> list[TopicPartition] | None:
        """Blocks. What /admin/preferred_replica_election lists; None while it does not exist."""
        found = self._wish(znodes.PreferredReplicaElectionZNode.PATH)
        if found is None:
            return None
        nothing: list[TopicPartition] = []
        return _or_empty(znodes.PreferredReplicaElectionZNode.decode, nothing, *found)

    def remove_preferred_elections(self) -> None:
        """Blocks. Delete /admin/preferred_replica_election if it exists."""
        self._one(Delete(znodes.PreferredReplicaElectionZNode.PATH), ignore=NoNode)

    def reassignments(self) -> dict[TopicPartition, tuple[int, ...]] | None:
        """Blocks. What /admin/reassign_partitions lists; None while it does not exist."""
        found = self._wish(znodes.ReassignPartitionsZNode.PATH)
        if found is None:
            return None
        nothing: dict[TopicPartition, tuple[int, ...]] = {}
        return _or_empty(znodes.ReassignPartitionsZNode.decode, nothing, *found)

    def write_reassignments(self, wanted: Mapping[TopicPartition, tuple[int, ...]]) -> None:
        """Blocks. Replace the list; an empty one removes the znode."""
        path = znodes.ReassignPartitionsZNode.PATH
        if wanted:
            self._one(SetData(path, znodes.ReassignPartitionsZNode.encode(wanted)), ignore=NoNode)
        else:
            self._one(Delete(path), ignore=NoNode)

    def _wish(self, path: str) -> tuple[bytes | None, Stat] | None:
        try:
            return self._zk.get(path)
        except NoNode:
            return None

    # Producer ids

    def last_producer_id(self) -> tuple[int | None, int]:
        """Blocks. (last id given to any broker, None before the first; version of its znode)."""
        data, stat = self._zk.get(znodes.ProducerIdBlockZNode.PATH)
        block = znodes.ProducerIdBlockZNode.decode(data, stat)
        return (None if block is None else block.last), stat.version

    def write_producer_id_block(self, block: znodes.ProducerIdBlock, zk_version: int) -> bool:
        """Blocks. False if another controller wrote meanwhile. A repeated write of the same block counts as written."""
        path = znodes.ProducerIdBlockZNode.PATH
        result = self._many([SetData(path, znodes.ProducerIdBlockZNode.encode(block), zk_version)])[0]
        if isinstance(result, BadVersion):
            return znodes.ProducerIdBlockZNode.decode(*self._zk.get(path)) == block
        if isinstance(result, ZkError):
            raise result
        return True

    # Fenced writes and pipelined reads

    def _many(self, operations: Sequence[Operation]) -> list[Any]:
        """Blocks. Perform each operation under the fence; one result each, a value or a ZkError."""
        return [result for (result,) in self._multis([(operation,) for operation in operations])]

    def _multis(self, batches: Sequence[tuple[Operation, ...]]) -> list[list[Any]]:
        """Blocks. Perform each batch as one under the fence; one result per operation, a value or a ZkError."""
        if not batches:
            return []
        found = []
        fenced = [(self._fence, *batch) for batch in batches]
        for check, *results in self._zk.multi_many(fenced, generation=self._generation):
            if isinstance(check, BadVersion | NoNode):
                raise ControllerMoved(
                    f"Controller epoch zkVersion check fails. Expected zkVersion = {self._fence.version}"
                )
            found.append(results)
        return found

    def _one(self, operation: Operation, *, ignore: type[ZkError] | None = None) -> Any:
        """Blocks. One fenced write; None instead of the ignored error."""
        result = self._many([operation])[0]
        if isinstance(result, ZkError):
            if ignore is not None and isinstance(result, ignore):
                return None
            raise result
        return result

    def _read(
        self,
        keys: list[_Key],
        path: Callable[[_Key], str],
        decode: Callable[[bytes | None, Stat, _Key], _Value],
    ) -> dict[_Key, _Value]:
        """Blocks. Read and decode each key's znode, pipelined; missing, forbidden and malformed ones are left out."""
        found: dict[_Key, _Value] = {}
        for key, node in in_slices(zip(keys, self._zk.get_many(map(path, keys)), strict=True)):
            if isinstance(node, NoNode):
                continue
            if isinstance(node, NoAuth):
                log.error("%s", node)
                continue
            if isinstance(node, ZkError):
                raise node
            try:
                found[key] = decode(*node, key)
            except MalformedZNode as error:
                log.error("%s", error)
        return found


def _creates_of(wanted: Mapping[TopicPartition, Leadership], group: Iterable[TopicPartition]) -> Iterator[Create]:
    """Of each partition its znode, and the state below."""
    states = znodes.TopicPartitionStateZNode
    for topic_partition in group:
        yield Create(znodes.TopicPartitionZNode.path(topic_partition))
        yield Create(states.path(topic_partition), states.encode(wanted[topic_partition]))


def _topic_in_zk(assignment: znodes.TopicAssignment) -> TopicInZk:
    replicas = {
        index: ReplicaAssignment(found.replicas, found.adding, found.removing)
        for index, found in sorted(assignment.partitions.items())
    }
    return TopicInZk(assignment.topic_id, replicas)


def _or_empty(decode: Callable[[bytes | None, Stat], _Value], empty: _Value, data: bytes | None, stat: Stat) -> _Value:
    """A malformed request is dropped: its znode is removed as after a valid one."""
    try:
        return decode(data, stat)
    except MalformedZNode as error:
        log.error("%s", error)
        return empty
