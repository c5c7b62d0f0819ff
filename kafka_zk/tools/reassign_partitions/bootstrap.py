"""kafka-reassign-partitions.sh --bootstrap-server: the actions of 3.9's tool, through the admin client.

Role        Acts. Prints what Apache's tool prints; failures leave as JavaError, or as Told where there is no trace.
Source      ReassignPartitionsCommand of 3.9: verifyAssignment, generateAssignment, executeAssignment,
            cancelAssignment, listReassignments.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from kafka_zk.client.admin.admin_results import PartitionReassignment, TopicDescription
from kafka_zk.client.admin.log_dirs import Replica, ReplicaDirectories
from kafka_zk.java_hash import string_hash
from kafka_zk.protocol.errors import BrokerError, ReplicaNotAvailable, UnknownTopicOrPartition
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.failures import FAILURES
from kafka_zk.tools.common.java_files import read_file
from kafka_zk.tools.common.java_output import JavaError, execution_error, hash_order, hash_order_by, partition_order
from kafka_zk.tools.common.options import Options
from kafka_zk.tools.reassign_partitions import throttles
from kafka_zk.tools.reassign_partitions.ends import Told
from kafka_zk.tools.reassign_partitions.moves import proposed_moves
from kafka_zk.tools.reassign_partitions.plan_file import (
    Assignment,
    Plan,
    checked_for_execute,
    checked_for_generate,
    failed,
    in_order,
    number_order,
    operation_failed,
    plan_text,
    read_plan,
)
from kafka_zk.tools.reassign_partitions.states import (
    PartitionState,
    is_move_done,
    move_lines,
    ongoing_lines,
    partition_lines,
)

if TYPE_CHECKING:
    from kafka_zk.client.admin.admin_client import AdminClient

EXISTING = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this and "
    "create a new partition assignment in addition to the existing one. The --additional flag can also be used to "
    "change the throttle by resubmitting the current reassignment."
)
RUN_VERIFY = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed."
)
NO_THROTTLE = -1
TIMEOUT_MS = 10_000
RETRY_S = 0.1

T = TypeVar("T")


def run(action: str, options: Options, admin: AdminClient) -> None:
    """Blocks. Do one action. Raises JavaError and Told."""
    if action == "list":
        print(ongoing_lines(_awaited(admin.list_partition_reassignments)))
        return
    if action == "generate":
        text = read_file(options.text("topics-to-move-json-file") or "")
        generate(admin, text, options.text("broker-list") or "", rack_aware=not options.has("disable-rack-aware"))
        return
    text = read_file(options.text("reassignment-json-file") or "")
    if action == "verify":
        verify(admin, text, preserve_throttles=options.has("preserve-throttles"))
    elif action == "execute":
        execute(
            admin,
            text,
            additional=options.has("additional"),
            throttle=_number(options, "throttle", NO_THROTTLE),
            log_dirs_throttle=_number(options, "replica-alter-log-dirs-throttle", NO_THROTTLE),
            timeout_ms=_number(options, "timeout", TIMEOUT_MS),
        )
    else:
        timeout_ms = _number(options, "timeout", TIMEOUT_MS)
        cancel(admin, text, preserve_throttles=options.has("preserve-throttles"), timeout_ms=timeout_ms)


def _number(options: Options, name: str, default: int) -> int:
    value = options.long(name)
    return default if value is None else value


def _awaited(ask: Callable[[], T]) -> T:
    """Blocks. Raises what `ask` raises as Java's futures do."""
    try:
        return ask()
    except JavaError:
        raise
    except FAILURES as error:
        raise execution_error(error) from error


# --- verify ----------------------------------------------------------------------------------------------------------


def verify(admin: AdminClient, text: str, *, preserve_throttles: bool) -> None:
    """Blocks. Say how far a plan has come, and remove the throttles once nothing moves any more."""
    plan = read_plan(text)
    states, anything_moves = _partition_states(admin, plan)
    print(partition_lines(states))
    found = _awaited(lambda: admin.describe_replica_log_dirs([*plan.log_dirs]))
    print(move_lines(plan.log_dirs, found))
    if not anything_moves and all(map(is_move_done, found.values())) and not preserve_throttles:
        throttles.clear_all(admin, plan)


def _partition_states(admin: AdminClient, plan: Plan) -> tuple[dict[TopicPartition, PartitionState], bool]:
    ongoing = _awaited(admin.list_partition_reassignments)
    states = {
        partition: PartitionState(ongoing[partition].replicas, target, is_done=False)
        for partition, target in plan.partitions
        if partition in ongoing
    }
    resting = [(partition, target) for partition, target in plan.partitions if partition not in ongoing]
    names = hash_order(dict.fromkeys(partition.topic for partition, _ in resting))
    topics = _awaited(lambda: admin.describe_each_topic(names))
    for partition, target in resting:
        states[partition] = _resting_state(partition.partition, topics[partition.topic], target)
    return states, bool(ongoing)


def _resting_state(index: int, topic: TopicDescription | BrokerError, target: Sequence[int]) -> PartitionState:
    if isinstance(topic, BrokerError):
        if not isinstance(topic, UnknownTopicOrPartition):
            raise execution_error(topic) from topic
        return PartitionState((), target, is_done=True)
    partitions = sorted(topic.partitions, key=lambda each: each.partition)
    if len(partitions) < index:
        return PartitionState((), target, is_done=True)
    if not 0 <= index < len(partitions):
        message = f"Index {index} out of bounds for length {len(partitions)}"
        raise JavaError(message, "java.lang.IndexOutOfBoundsException")
    return PartitionState(partitions[index].replicas, target, is_done=True)


# --- generate --------------------------------------------------------------------------------------------------------


def generate(admin: AdminClient, text: str, broker_list: str, *, rack_aware: bool) -> None:
    """Blocks. Print the replicas that topics have, and others on the brokers named."""
    brokers, topics = checked_for_generate(text, broker_list)
    current = _current_of_topics(admin, topics)
    racks = _racks(admin, brokers, rack_aware=rack_aware)
    proposed = proposed_assignment(current, racks)
    print(f"Current partition replica assignment\n{plan_text(current)}\n")
    print(f"Proposed partition reassignment configuration\n{plan_text(proposed)}")


def proposed_assignment(current: Assignment, racks: Mapping[int, str | None]) -> Assignment:
    """Other replicas for all partitions of topics, as those of new topics are chosen. Raises JavaError."""
    from kafka_zk.admin.assignment import BrokerRack, assign_replicas

    proposed: dict[TopicPartition, Sequence[int]] = {}
    order = partition_order(current)
    by_topic: dict[str, list[TopicPartition]] = {}
    for partition in order:
        by_topic.setdefault(partition.topic, []).append(partition)
    brokers = [BrokerRack(broker_id, rack) for broker_id, rack in racks.items()]
    for topic in hash_order_by(by_topic, string_hash):
        partitions = by_topic[topic]
        assigned = assign_replicas(
            brokers,
            partition_count=len(partitions),
            replication_factor=len(current[partitions[0]]),
            start_index=random.randrange(max(1, len(brokers))),
            shift=random.randrange(max(1, len(brokers))),
        )
        proposed.update({TopicPartition(topic, index): replicas for index, replicas in assigned.items()})
    return proposed


def _racks(admin: AdminClient, brokers: Collection[int], *, rack_aware: bool) -> dict[int, str | None]:
    nodes = _awaited(admin.describe_cluster).nodes
    found = {node.id: node.rack if rack_aware else None for node in nodes if node.id in brokers}
    without = sum(rack is None for rack in found.values())
    if rack_aware and 0 < without < len(found):
        raise operation_failed(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information."
        )
    return found


def _described(admin: AdminClient, names: Collection[str]) -> dict[str, TopicDescription]:
    found = _awaited(lambda: admin.describe_each_topic(hash_order(names, len(names))))
    described: dict[str, TopicDescription] = {}
    for name, topic in found.items():
        if isinstance(topic, UnknownTopicOrPartition):
            topic = UnknownTopicOrPartition(f"Topic {name} not found.")
        if isinstance(topic, BrokerError):
            raise execution_error(topic) from topic
        described[name] = topic
    return described


def _current_of_topics(admin: AdminClient, names: Sequence[str]) -> Assignment:
    return {
        TopicPartition(name, each.partition): each.replicas
        for name, topic in _described(admin, names).items()
        for each in topic.partitions
    }


# --- execute ---------------------------------------------------------------------------------------------------------


def execute(
    admin: AdminClient, text: str, *, additional: bool, throttle: int, log_dirs_throttle: int, timeout_ms: int
) -> None:
    """Blocks. Begin a plan; a throttle below 0 is none. Waits up to `timeout_ms` for moves between directories."""
    plan = read_plan(text)
    proposed = checked_for_execute(plan)
    ongoing = _awaited(admin.list_partition_reassignments)
    if ongoing and not additional:
        raise Told(EXISTING)
    _check_brokers(admin, proposed)
    current = _current_of_partitions(admin, proposed)
    print(
        f"Current partition replica assignment\n\n{plan_text(current)}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback"
    )
    if throttle >= 0 or log_dirs_throttle >= 0:
        print(RUN_VERIFY)
    if throttle >= 0:
        throttles.set_inter_broker(admin, proposed_moves(ongoing, proposed, current), throttle)
    if log_dirs_throttle >= 0:
        brokers = number_order(replica.broker_id for replica in plan.log_dirs)
        throttles.set_log_dirs(admin, brokers, log_dirs_throttle)
    errors = _altered(admin, proposed)
    if errors:
        raise Told(f"Error reassigning partition(s):\n{_error_lines(errors)}")
    listed = ",".join(map(str, in_order(proposed)))
    print(f"Successfully started partition reassignment{'' if len(proposed) == 1 else 's'} for {listed}")
    if plan.log_dirs:
        _move_directories(admin, plan.log_dirs, timeout_ms)


def _check_brokers(admin: AdminClient, proposed: Assignment) -> None:
    living = {node.id for node in _awaited(admin.describe_cluster).nodes}
    for broker_id in number_order(each for partition in partition_order(proposed) for each in proposed[partition]):
        if broker_id not in living:
            raise failed(f"Unknown broker id {broker_id}")


def _current_of_partitions(admin: AdminClient, wanted: Assignment) -> Assignment:
    names = hash_order(dict.fromkeys(partition.topic for partition in partition_order(wanted)))
    everything = _current_of_topics(admin, names)
    if missing := [partition for partition in wanted if partition not in everything]:
        listed = ", ".join(map(str, partition_order(missing)))
        error = UnknownTopicOrPartition(f"Unable to find partition: {listed}")
        raise execution_error(error) from error
    return {partition: everything[partition] for partition in wanted}


def _altered(
    admin: AdminClient, wanted: Mapping[TopicPartition, Sequence[int] | None]
) -> dict[TopicPartition, Exception]:
    try:
        outcomes = admin.alter_partition_reassignments(wanted)
    except FAILURES as error:
        return dict.fromkeys(wanted, error)
    return {partition: error for partition, error in outcomes.items() if error is not None}


def _error_lines(errors: Mapping[TopicPartition, Exception]) -> str:
    return "\n".join(f"{partition}: {errors[partition]}" for partition in in_order(errors))


def _move_directories(admin: AdminClient, wanted: Mapping[Replica, str], timeout_ms: int) -> None:
    """Blocks. A replica that its broker does not have yet is asked for again until it has."""
    deadline_s = time.monotonic() + timeout_ms / 1000
    pending = dict(wanted)
    while True:
        done = _moving(admin, pending)
        for replica in _by_broker(done):
            print(
                f"Successfully started moving log directory to {pending.pop(replica)} for replica "
                f"{replica.topic}-{replica.partition} with broker {replica.broker_id} "
            )
        if not pending:
            return
        if time.monotonic() >= deadline_s:
            listed = ",".join(map(str, _by_broker(pending)))
            plural = "" if len(pending) == 1 else "s"
            raise Told(f"Timed out before log directory move{plural} could be started for: {listed}")
        time.sleep(RETRY_S)


def _moving(admin: AdminClient, wanted: Mapping[Replica, str]) -> list[Replica]:
    outcomes = admin.alter_replica_log_dirs(wanted)
    done = []
    for replica in hash_order_by(outcomes, _replica_hash):
        error = outcomes[replica]
        if error is None:
            done.append(replica)
        elif not isinstance(error, ReplicaNotAvailable):
            cause = execution_error(error)
            cause.__cause__ = error
            raise failed(f"Failed to alter dir for {replica}") from cause
    return done


def _by_broker(replicas: Iterable[Replica]) -> list[Replica]:
    return sorted(replicas, key=lambda each: (each.broker_id, each.topic, each.partition))


def _replica_hash(replica: Replica) -> int:
    """TopicPartitionReplica.hashCode."""
    of_partition = 31 * (31 + string_hash(replica.topic)) + replica.partition
    return (31 * of_partition + replica.broker_id) & 0xFFFFFFFF


# --- cancel ----------------------------------------------------------------------------------------------------------


def cancel(admin: AdminClient, text: str, *, preserve_throttles: bool, timeout_ms: int) -> None:
    """Blocks. Stop what a plan began: replicas stay, or go back, where they were."""
    plan = read_plan(text)
    wanted = [*dict.fromkeys(partition for partition, _ in plan.partitions)]
    moving = _awaited(lambda: admin.list_partition_reassignments(wanted))
    # Apache's condition, word for word: a reassignment that only adds replicas is not cancelled.
    cancelled = [partition for partition, each in moving.items() if _is_cancelled(each)]
    if cancelled:
        errors = _altered(admin, dict.fromkeys(cancelled))
        if errors:
            plural = "" if len(errors) == 1 else "s"
            raise Told(f"Error cancelling partition reassignment{plural} for:\n{_error_lines(errors)}")
        listed = ",".join(map(str, in_order(cancelled)))
        print(f"Successfully cancelled partition reassignment{'' if len(cancelled) == 1 else 's'} for: {listed}")
    else:
        print("None of the specified partition reassignments are active.")
    found = _awaited(lambda: admin.describe_replica_log_dirs([*plan.log_dirs]))
    back = {replica: place.current for replica, place in found.items() if _moves(place)}
    if back:
        _move_directories(admin, {replica: path for replica, path in back.items() if path is not None}, timeout_ms)
    else:
        # Without a line break, as in 3.9.
        sys.stdout.write("None of the specified partition moves are active.")
    if not preserve_throttles:
        throttles.clear_all(admin, plan)


def _is_cancelled(reassignment: PartitionReassignment) -> bool:
    return not reassignment.adding_replicas or bool(reassignment.removing_replicas)


def _moves(place: ReplicaDirectories) -> bool:
    return place.current is not None and place.future is not None
