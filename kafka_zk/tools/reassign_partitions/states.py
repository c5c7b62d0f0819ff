"""How far a plan has come, as --verify tells it.

Role        Pure.
Source      ReassignPartitionsCommand: partitionReassignmentStatesToString, findLogDirMoveStates,
            replicaMoveStatesToString, curReassignmentsToString.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_zk.client.admin.admin_results import PartitionReassignment
from kafka_zk.client.admin.log_dirs import Replica, ReplicaDirectories
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.reassign_partitions.plan_file import in_order


class PartitionState(NamedTuple):
    """A partition of a plan: its replicas now, those it should have, and whether nothing moves it any more."""

    current: Sequence[int]
    target: Sequence[int]
    is_done: bool


def partition_lines(states: Mapping[TopicPartition, PartitionState], *, completed: str = "completed") -> str:
    """Lines for --verify. `completed` is 3.9's word; 2.8 said another."""
    lines = ["Status of partition reassignment:"]
    for partition in in_order(states):
        state = states[partition]
        if not state.is_done:
            lines.append(f"Reassignment of partition {partition} is still in progress.")
        elif list(state.current) == list(state.target):
            lines.append(f"Reassignment of partition {partition} is {completed}.")
        else:
            lines.append(
                f"There is no active reassignment of partition {partition}, but replica set is "
                f"{_ids(state.current)} rather than {_ids(state.target)}."
            )
    return "\n".join(lines)


def is_move_done(found: ReplicaDirectories) -> bool:
    """Whether a replica is in some directory, and does not move to another one."""
    return found.current is not None and found.future is None


def move_lines(targets: Mapping[Replica, str], found: Mapping[Replica, ReplicaDirectories]) -> str:
    """Lines for replicas that should be in the directories `targets`; empty when there are none."""
    replicas = sorted(targets, key=lambda each: (each.broker_id, each.topic, each.partition))
    return "\n".join(_move_line(replica, targets[replica], found[replica]) for replica in replicas)


def _move_line(replica: Replica, target: str, found: ReplicaDirectories) -> str:
    partition = f"Partition {replica.topic}-{replica.partition}"
    if found.current is None:
        return (
            f"{partition} is not found in any live log dir on broker {replica.broker_id}. "
            "There is likely an offline log directory on the broker."
        )
    if found.future is None:
        if found.current == target:
            return f"Reassignment of replica {replica} completed successfully."
        return f"{partition} on broker {replica.broker_id} is not being moved from log dir {found.current} to {target}."
    if found.future == target:
        return f"Reassignment of replica {replica} is still in progress."
    return f"{partition} on broker {replica.broker_id} is being moved to log dir {found.future} instead of {target}."


def ongoing_lines(ongoing: Mapping[TopicPartition, PartitionReassignment]) -> str:
    """What --list prints."""
    if not ongoing:
        return "No partition reassignments found."
    lines = ["Current partition reassignments:"]
    for partition in in_order(ongoing):
        each = ongoing[partition]
        adding = f" adding: {_ids(each.adding_replicas)}." if each.adding_replicas else ""
        removing = f" removing: {_ids(each.removing_replicas)}." if each.removing_replicas else ""
        lines.append(f"{partition}: replicas: {_ids(each.replicas)}.{adding}{removing}")
    return "\n".join(lines)


def _ids(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))
