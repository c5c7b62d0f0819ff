"""Runs a decision and performs its actions.

Role        Acts. Every change of a group goes through `decide`.
Invariants  `decide` does not switch: records are appended by greenlets of their own, in the order of the decisions.
            The result of a write leads to the next decision. A dead group writes none.
Source      The purgatories and callbacks of Kafka 3.9 GroupCoordinator; GroupMetadataManager.storeGroup.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from kafka_zk.clock import Clock
from kafka_zk.coordinator.group.append_errors import GROUP_RECORD_ERRORS
from kafka_zk.coordinator.group.decisions.actions import (
    Action,
    AnswerJoin,
    AnswerSync,
    Assignment,
    GroupRules,
    Report,
    StartTimer,
    Step,
    StopTimer,
    StoreGroup,
    TimerKey,
)
from kafka_zk.coordinator.group.decisions.group import Group
from kafka_zk.coordinator.group.decisions.membership import on_timer
from kafka_zk.coordinator.group.decisions.records import group_key
from kafka_zk.coordinator.group.decisions.syncing import on_group_stored
from kafka_zk.coordinator.group.metrics import GroupMetrics
from kafka_zk.coordinator.group.timers import GroupTimers
from kafka_zk.coordinator.state_log import Done, KeyAndValue
from kafka_zk.protocol.errors import ErrorCode

T = TypeVar("T")

log_lines = logging.getLogger("kafka.coordinator.group.GroupCoordinator")


class Spawn(Protocol):
    """gevent.spawn, or a test's replacement."""

    def __call__(self, function: Callable[..., None], /, *arguments: object) -> object: ...


class RecordLog(Protocol):
    """StateLog, as far as groups write to it."""

    def append(self, partition: int, records: Sequence[KeyAndValue], done: Done) -> None:
        """Blocks. Append one batch; `done` gets the result."""
        ...


class Performer:
    """`partition_of(group_id)` gives the partition of a group's records."""

    def __init__(
        self,
        *,
        clock: Clock,
        rules: GroupRules,
        log: RecordLog,
        partition_of: Callable[[str], int],
        spawn: Spawn,
        metrics: GroupMetrics,
    ) -> None:
        self._clock = clock
        self.rules = rules
        self._log = log
        self._partition_of = partition_of
        self._spawn = spawn
        self._metrics = metrics
        self.timers = GroupTimers(clock, self._on_timer)

    def decide(self, group: Group, decision: Callable[[Step], T]) -> T:
        """Let `decision` change the group, then perform its actions. Does not switch."""
        step = Step(self._clock.wall_ms(), self.rules)
        answer = decision(step)
        for action in step.actions:
            self._perform(group, action)
        return answer

    def _perform(self, group: Group, action: Action) -> None:
        match action:
            case StartTimer(key, delay_ms):
                self.timers.start(group, key, delay_ms)
            case StopTimer(key):
                self.timers.stop(group, key)
            case AnswerJoin(join_reply, joined):
                join_reply(joined)
            case AnswerSync(sync_reply, synced):
                sync_reply(synced)
            case StoreGroup(_, what):
                if isinstance(what, Assignment):
                    self._metrics.completed_rebalances += 1
                self._spawn(self._store, group, action)
            case Report(text):
                log_lines.info("[GroupCoordinator] %s", text)

    def _store(self, group: Group, action: StoreGroup) -> None:
        """Blocks. Append the group's record; the result leads to a decision."""
        if group.is_dead:
            # It ended before its record was written: after the tombstone, the record would restore it.
            return

        def done(code: ErrorCode, _: int) -> None:
            error = GROUP_RECORD_ERRORS.get(code, code)
            self.decide(group, lambda step: on_group_stored(group, action.what, error, step))

        record = (group_key(group.group_id), action.value)
        self._log.append(self._partition_of(group.group_id), [record], done)

    def _on_timer(self, group: Group, key: TimerKey) -> None:
        self.decide(group, lambda step: on_timer(group, key, step))
