"""What a new or changed topic must look like.

Role        Pure: each rule raises the BrokerError that a client sees, with Kafka's words.
Source      Topic.validate, AdminZkClient.validateTopicCreate and addPartitions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from kafka_zk.admin.assignment import Assignment
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.errors import InvalidPartitions, InvalidReplicaAssignment, InvalidTopicException

CLUSTER_METADATA_TOPIC = "__cluster_metadata"

NAME_LENGTH_MAX = 249
"""A partition directory is `<name>-<10 digits>` and file names end at 255 bytes; the rest is for suffixes."""

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")


def check_name(name: str) -> None:
    """Raise InvalidTopicException unless `name` is a valid topic name."""
    if reason := _fault_of(name):
        raise InvalidTopicException(f"Topic name is invalid: {reason}")


def _fault_of(name: str) -> str | None:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > NAME_LENGTH_MAX:
        return f"the length of '{name}' is longer than the max allowed length {NAME_LENGTH_MAX}"
    if not _LEGAL_NAME.fullmatch(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None


def check_collisions(name: str, existing: Iterable[str]) -> None:
    """Refuse a name that differs from an existing one only in '.' and '_': metric names would collide."""
    if "." not in name and "_" not in name:
        return
    wanted = name.replace(".", "_")
    colliding = sorted(other for other in existing if other.replace(".", "_") == wanted)
    if colliding:
        raise InvalidTopicException(f"Topic '{name}' collides with existing topics: {', '.join(colliding)}")


def check_assignment(assignment: Assignment) -> None:
    """Raise InvalidReplicaAssignment unless the manual `assignment` of a new topic is complete and consistent."""
    if len({len(replicas) for replicas in in_turns(assignment.values())}) != 1:
        raise InvalidReplicaAssignment("All partitions should have the same number of replicas")
    for replicas in in_turns(assignment.values()):
        if len(replicas) != len(set(replicas)):
            raise InvalidReplicaAssignment(f"Duplicate replica assignment found: {scala_map(assignment)}")
    if sorted(assignment) != list(range(len(assignment))):
        raise InvalidReplicaAssignment("partitions should be a consecutive 0-based integer sequence")


def check_new_partitions(
    topic: str,
    *,
    existing: Assignment,
    total_count: int,
    given: Sequence[Sequence[int]] | None,
    live_brokers: Collection[int],
) -> None:
    """Raise InvalidPartitions or InvalidReplicaAssignment unless `topic` can be extended to `total_count` partitions.

    `given` are the replicas of the new partitions where the client chose them (None: the broker chooses).
    """
    added = total_count - len(existing)
    if added < 0:
        raise InvalidPartitions(
            f"Topic currently has {len(existing)} partitions, which is higher than the requested {total_count}."
        )
    if added == 0:
        raise InvalidPartitions(f"Topic already has {total_count} partitions.")
    if given is None:
        return
    named = dict.fromkeys(broker for replicas in in_turns(given) for broker in replicas)
    unknown = [broker for broker in named if broker not in live_brokers]
    if unknown:
        raise InvalidReplicaAssignment(f"Unknown broker(s) in replica assignment: {', '.join(map(str, unknown))}.")
    if len(given) != added:
        raise InvalidReplicaAssignment(
            f"Increasing the number of partitions by {added} but {len(given)} assignments provided."
        )
    _check_replicas_of_new_partitions(given, first=len(existing), factor=len(existing[0]))


def _check_replicas_of_new_partitions(given: Sequence[Sequence[int]], *, first: int, factor: int) -> None:
    for partition, replicas in in_turns(enumerate(given, first)):
        if not replicas:
            raise InvalidReplicaAssignment(f"Cannot have replication factor of 0 for partition id {partition}.")
        if len(replicas) != len(set(replicas)):
            raise InvalidReplicaAssignment(
                f"Duplicate brokers not allowed in replica assignment: {', '.join(map(str, replicas))} "
                f"for partition id {partition}."
            )
    uneven = [number for number, replicas in in_turns(enumerate(given, first)) if len(replicas) != factor]
    if uneven:
        counts = ", ".join(str(len(given[number - first])) for number in uneven)
        raise InvalidReplicaAssignment(
            f"Inconsistent replication factor between partitions, partition 0 has {factor} while partitions "
            f"[{', '.join(map(str, uneven))}] have replication factors [{counts}], respectively."
        )


def scala_map(assignment: Assignment) -> str:
    """The assignment as Kafka prints it inside its messages."""
    entries = (f"{p} -> ArrayBuffer({', '.join(map(str, replicas))})" for p, replicas in sorted(assignment.items()))
    return f"HashMap({', '.join(entries)})"
