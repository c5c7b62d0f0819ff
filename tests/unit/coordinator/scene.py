"""One group on a simulated clock: members speak in a line each, and what they were answered is kept.

The log is a list: records are stored at once unless the test keeps them waiting.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from kafka_zk.clock import SimClock
from kafka_zk.coordinator.group.decisions.actions import GroupRules, JoinResult, SyncResult
from kafka_zk.coordinator.group.decisions.group import Group
from kafka_zk.coordinator.group.decisions.joining import Join, join_group
from kafka_zk.coordinator.group.decisions.membership import check_commit, heartbeat, leave, loaded, unloaded
from kafka_zk.coordinator.group.decisions.states import GroupState
from kafka_zk.coordinator.group.decisions.syncing import Sync, sync_group
from kafka_zk.coordinator.group.metrics import GroupMetrics
from kafka_zk.coordinator.group.performer import Performer
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.protocol.errors import ErrorCode

RANGE = (("range", b"\0\1\0\0\0\1\0\1t\0\0\0\0\0\0\0\0"),)


class LogOfTest:
    """Stores at once, or when `release` is called, or fails with `error`."""

    def __init__(self) -> None:
        self.records: list[tuple[bytes, bytes | None]] = []
        self.error = ErrorCode.NONE
        self.holds_back = False
        self._held: list[Callable[[], None]] = []

    def append(self, partition: int, records: Any, done: Any, *, base_sequence: int = -1) -> None:
        def store() -> None:
            if self.error is ErrorCode.NONE:
                self.records.extend(records)
                done(ErrorCode.NONE, len(self.records) - len(records))
            else:
                done(self.error, -1)

        if self.holds_back:
            self._held.append(store)
        else:
            store()

    def release(self) -> None:
        held, self._held = self._held, []
        for store in held:
            store()


class Scene:
    """`joined` and `synced` hold every answer in the order in which it came."""

    def __init__(self, *, initial_delay_ms: int = 0, max_size: int = 1000) -> None:
        self.clock = SimClock()
        self.group = Group("g")
        self.log = LogOfTest()
        self.rules = GroupRules(initial_rebalance_delay_ms=initial_delay_ms, max_size=max_size)
        self.performer = Performer(
            clock=self.clock,
            rules=self.rules,
            log=self.log,
            partition_of=lambda _: 0,
            spawn=lambda function, *arguments: function(*arguments),
            metrics=GroupMetrics(MetricsRegistry(self.clock)),
        )
        self._ids = itertools.count(1)

    def join(
        self,
        member_id: str = "",
        *,
        instance: str | None = None,
        protocols: tuple[tuple[str, bytes], ...] = RANGE,
        protocol_type: str = "consumer",
        session_ms: int = 10_000,
        rebalance_ms: int = 20_000,
        old: bool = True,
        skips: bool = False,
    ) -> list[JoinResult]:
        """The list that the answer will be in. `old` clients need no member id to join."""
        answers: list[JoinResult] = []
        asked = Join(
            member_id=member_id,
            new_member_id=f"m{next(self._ids)}",
            group_instance_id=instance,
            client_id="c",
            client_host="/h",
            rebalance_timeout_ms=rebalance_ms,
            session_timeout_ms=session_ms,
            protocol_type=protocol_type,
            protocols=protocols,
            requires_known_member_id=not old and instance is None,
            may_skip_assignment=skips,
        )
        self.performer.decide(self.group, lambda step: join_group(self.group, asked, answers.append, step))
        return answers

    def sync(
        self,
        member_id: str,
        assignments: dict[str, bytes] | None = None,
        *,
        instance: str | None = None,
        generation: int | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> list[SyncResult]:
        asked = Sync(
            member_id,
            self.group.generation if generation is None else generation,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=assignments or {},
        )
        answers: list[SyncResult] = []
        self.performer.decide(self.group, lambda step: sync_group(self.group, asked, answers.append, step))
        return answers

    def heartbeat(self, member_id: str, *, instance: str | None = None, generation: int | None = None) -> ErrorCode:
        wanted = self.group.generation if generation is None else generation
        return self.performer.decide(
            self.group,
            lambda step: heartbeat(
                self.group, member_id=member_id, group_instance_id=instance, generation=wanted, step=step
            ),
        )

    def leave(self, member_id: str, *, instance: str | None = None) -> ErrorCode:
        return self.performer.decide(
            self.group,
            lambda step: leave(self.group, member_id=member_id, group_instance_id=instance, reason="test", step=step),
        )

    def may_commit(
        self,
        member_id: str = "",
        *,
        instance: str | None = None,
        generation: int = -1,
        transactional: bool = False,
    ) -> ErrorCode:
        return self.performer.decide(
            self.group,
            lambda step: check_commit(
                self.group,
                member_id=member_id,
                group_instance_id=instance,
                generation=generation,
                is_transactional=transactional,
                step=step,
            ),
        )

    def load(self) -> None:
        self.performer.decide(self.group, lambda step: loaded(self.group, step))

    def unload(self) -> None:
        self.performer.decide(self.group, lambda step: unloaded(self.group, step))

    def advance(self, ms: int) -> None:
        self.clock.advance(ms)

    @property
    def state(self) -> GroupState:
        return self.group.state

    # --- longer stories ----------------------------------------------------------------------------------------------

    def stable(self, count: int = 1, *, instances: tuple[str, ...] = (), **how: Any) -> list[str]:
        """A stable group of `count` dynamic members, then one for each instance; their ids, the leader first."""
        joins = [self.join(**how) for _ in range(count)]
        joins += [self.join(instance=instance, **how) for instance in instances]
        self.advance(3 * self.rules.initial_rebalance_delay_ms)
        assert all(joins), "a group of several members needs an initial delay"
        ids = [answers[0].member_id for answers in joins]
        leader = self.group.leader_or_none
        ids.sort(key=lambda member_id: member_id != leader)
        assignments = {member_id: member_id.encode() for member_id in ids}
        for member_id in reversed(ids):
            self.sync(member_id, assignments if member_id == leader else None)
        assert self.state is GroupState.STABLE, self.group
        return ids
