"""The actions that a decision returns: responses, timers, records to store, log lines.

Role        Pure data. The core returns these in order; `GroupCoordinator` performs them.
Source      JoinGroupResult, SyncGroupResult, DelayedJoin, DelayedSync, DelayedHeartbeat in Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from kafka_zk.protocol.errors import ErrorCode

NO_MEMBER_ID = ""
NO_LEADER = ""
NO_GENERATION = -1


class JoinedMember(NamedTuple):
    """One member, as the leader sees it."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class JoinResult(NamedTuple):
    """The answer to a JoinGroup; the defaults are those of a failed one."""

    error: ErrorCode
    member_id: str
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str = NO_LEADER
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


class SyncResult(NamedTuple):
    """The answer to a SyncGroup."""

    error: ErrorCode
    assignment: bytes = b""
    protocol_type: str | None = None
    protocol_name: str | None = None


JoinReply: TypeAlias = Callable[[JoinResult], object]
SyncReply: TypeAlias = Callable[[SyncResult], object]
"""The core keeps it while a request waits; only the shell calls it, once."""


class TimerKey(NamedTuple):
    """One timer of a group: `kind` is JOIN, SYNC or SESSION; only sessions belong to a member."""

    kind: str
    member_id: str = ""


JOIN_TIMER = TimerKey("join")
SYNC_TIMER = TimerKey("sync")


def session_timer(member_id: str) -> TimerKey:
    """The session timer of a member, or of a pending member id."""
    return TimerKey("session", member_id)


@dataclass(frozen=True, slots=True)
class AnswerJoin:
    reply: JoinReply
    result: JoinResult


@dataclass(frozen=True, slots=True)
class AnswerSync:
    reply: SyncReply
    result: SyncResult


@dataclass(frozen=True, slots=True)
class StartTimer:
    """Start, or start again, what `timers.on_timer` gets after `delay_ms`."""

    key: TimerKey
    delay_ms: int


@dataclass(frozen=True, slots=True)
class StopTimer:
    key: TimerKey


@dataclass(frozen=True, slots=True)
class EmptyGeneration:
    """The record of a generation without members; nothing depends on whether it is stored."""

    generation: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """What the leader decided for `generation`, by member id. Valid once stored."""

    generation: int
    by_member: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class StaticReplacement:
    """A static member that rejoined under a new id, and its previous state."""

    group_instance_id: str
    old_member_id: str
    new_member_id: str
    old_leader_id: str
    old_protocols: tuple[tuple[str, bytes], ...]
    old_rebalance_timeout_ms: int
    old_session_timeout_ms: int
    skips_assignment: bool
    reply: JoinReply


Stored: TypeAlias = EmptyGeneration | Assignment | StaticReplacement


@dataclass(frozen=True, slots=True)
class StoreGroup:
    """Write the group's current record; then call `storing.on_group_stored` with `what` and the result."""

    value: bytes
    what: Stored


@dataclass(frozen=True, slots=True)
class Report:
    """A line for the operator."""

    text: str


Action: TypeAlias = AnswerJoin | AnswerSync | StartTimer | StopTimer | StoreGroup | Report


class GroupRules(NamedTuple):
    """The configs that decide, with Kafka's defaults. Sizes count members."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = 2**31 - 1


class Step:
    """One event being decided: its wall time, the rules, and the actions so far."""

    __slots__ = ("actions", "now_ms", "rules")

    def __init__(self, now_ms: int, rules: GroupRules) -> None:
        self.now_ms = now_ms
        self.rules = rules
        self.actions: list[Action] = []

    def add(self, action: Action) -> None:
        self.actions.append(action)
