"""Sends requests about groups to their coordinators, looking these up until the deadline.

Role        Acts, through `Calls`. Callers define the request that one coordinator gets about some of the groups.
Invariants  Coordinators of several groups are looked up in one request where the broker can (FindCoordinator v4).
            A group that fails does not affect the others. A coordinator that moved, or whose
            connection broke, is looked up again; one that is loading is asked again.
Source      AdminApiDriver, CoordinatorStrategy.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeAlias, TypeVar

from kafka_zk.client.admin.admin_results import Node
from kafka_zk.client.admin.calls import Call, Calls, timed_out
from kafka_zk.client.errors import DisconnectException, KafkaException, TimeoutException
from kafka_zk.protocol.errors import BrokerError, ErrorCode, error_class_for
from kafka_zk.protocol.messages import find_coordinator as messages

GROUP = 0
COORDINATORS_BY_LIST = 4

Value = TypeVar("Value")


class Again(Enum):
    """Why the request about a group is retried."""

    LOADING = "the coordinator is loading"
    MOVED = "the coordinator is elsewhere"


Outcome: TypeAlias = Value | BrokerError | KafkaException | Again


def outcome_of(error_code: int, message: str | None = None) -> BrokerError | Again:
    """The meaning of a group's error code."""
    if error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return Again.LOADING
    if error_code in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR):
        return Again.MOVED
    return error_class_for(error_code)(message)


@dataclass(frozen=True, slots=True)
class GroupCall(Generic[Value]):
    """One kind of request: its name, its API, and how to ask a coordinator about groups.

    `ask(calls, coordinator, groups, deadline_s)` blocks, and returns a result for every group. `expected` errors are
    left to the caller; other errors are also logged with `complaint`, as Java's class `handler` does.
    """

    name: str
    api: str
    handler: str
    complaint: str
    ask: Callable[[Calls, Node, list[str], float], Mapping[str, Outcome[Value]]]
    expected: Collection[ErrorCode]

    def step(self, api: str) -> str:
        """The name of one of its requests in errors."""
        return f"{self.name}(api={api})"


@dataclass(slots=True)
class _Driver(Generic[Value]):
    """The state of one call, by group."""

    calls: Calls
    call: GroupCall[Value]
    deadline_s: float
    unmapped: list[str]
    mapped: dict[str, Node] = field(default_factory=dict)
    found: dict[str, Value | BrokerError | KafkaException] = field(default_factory=dict)
    tries: int = 0

    def look_up(self) -> None:
        """Blocks. Find coordinators for the groups that have none."""
        name = self.call.step("FIND_COORDINATOR")
        wanted, self.unmapped = self.unmapped, []
        left_ms = int((self.deadline_s - time.monotonic()) * 1000)
        try:
            for found in coordinators_of(self.calls.within(left_ms), wanted, name):
                self._take_coordinator(found)
        except (BrokerError, KafkaException) as error:
            for group in wanted:
                if group not in self.mapped and group not in self.found:
                    self.found[group] = error

    def _take_coordinator(self, found: messages.Coordinator) -> None:
        group = found.key
        if found.error_code == ErrorCode.NONE:
            self.mapped[group] = Node(found.node_id, found.host, found.port, None)
        elif found.error_code in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
            self.unmapped.append(group)
        else:
            key = f"CoordinatorKey(idValue='{group}', type=GROUP)"
            denied = found.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
            self.found[group] = error_class_for(found.error_code)(
                f"FindCoordinator request for groupId `{key}` failed due to authorization failure"
                if denied
                else f"FindCoordinator request for key `{key}` failed due to an unexpected error"
            )

    def ask_all(self) -> None:
        """Blocks. Ask each coordinator about its groups."""
        by_node: dict[Node, list[str]] = {}
        for group, node in self.mapped.items():
            by_node.setdefault(node, []).append(group)
        for node, groups in by_node.items():
            try:
                outcomes = self.call.ask(self.calls, node, groups, self.deadline_s)
            except DisconnectException:
                outcomes = dict.fromkeys(groups, Again.MOVED)
            except TimeoutException as error:
                late = self._timed_out(self.call.api, self.tries + 1)
                late.__cause__ = error
                outcomes = dict.fromkeys(groups, late)
            except (BrokerError, KafkaException) as error:
                outcomes = dict.fromkeys(groups, error)
            for group in groups:
                self._take(group, outcomes[group])

    def _take(self, group: str, outcome: Outcome[Value]) -> None:
        if outcome is Again.LOADING:
            return
        del self.mapped[group]
        if isinstance(outcome, Again):
            self.unmapped.append(group)
            return
        self.found[group] = outcome
        if isinstance(outcome, BrokerError) and outcome.code not in self.call.expected:
            log_unexpected(self.calls, self.call.handler, self.call.complaint.replace("{group}", group), outcome)

    def pending(self) -> list[str]:
        return [*self.unmapped, *self.mapped]

    def give_up(self, wait_s: float) -> None:
        """The next try, `wait_s` from now, would exceed the deadline."""
        for api, groups in (("FIND_COORDINATOR", self.unmapped), (self.call.api, self.mapped)):
            self.found.update(dict.fromkeys(groups, self._timed_out(api, self.tries, wait_s)))

    def _timed_out(self, api: str, tries: int, wait_s: float = 0) -> TimeoutException:
        return timed_out(self.call.step(api), tries, self.deadline_s - time.monotonic(), wait_s)


def ask_coordinators(
    calls: Calls, groups: Collection[str], call: GroupCall[Value]
) -> dict[str, Value | BrokerError | KafkaException]:
    """Blocks. A value or an error for each of `groups`, in their order."""
    wanted = list(dict.fromkeys(groups))
    driver = _Driver(calls, call, time.monotonic() + calls.timeout_ms / 1000, wanted[:])
    while driver.pending():
        if driver.unmapped:
            driver.look_up()
        driver.ask_all()
        if not driver.pending():
            break
        driver.tries += 1
        wait_s = calls.backoff.wait_ms(driver.tries) / 1000
        if wait_s >= driver.deadline_s - time.monotonic():
            driver.give_up(wait_s)
            break
        time.sleep(wait_s)
    return {group: driver.found[group] for group in wanted}


def coordinators_of(calls: Calls, groups: list[str], name: str) -> list[messages.Coordinator]:
    """Blocks. Returns one answer for each group, in the newer form; an old broker gets one request per group."""

    def ask(keys: list[str]) -> messages.FindCoordinatorResponse | None:
        alone = len(keys) == 1

        def build(version: int) -> messages.FindCoordinatorRequest:
            if version >= COORDINATORS_BY_LIST:
                return messages.FindCoordinatorRequest(key_type=GROUP, coordinator_keys=keys)
            if not alone:
                raise _NoBatches
            return messages.FindCoordinatorRequest(key=keys[0], key_type=GROUP)

        request, response = messages.FIND_COORDINATOR_REQUEST, messages.FIND_COORDINATOR_RESPONSE
        try:
            return calls.to_any_node(Call(name, request, response, build))
        except _NoBatches:
            return None

    answer = ask(groups)
    if answer is not None and answer.coordinators:
        return answer.coordinators
    found = []
    for group in groups:
        single = answer if answer is not None and len(groups) == 1 else ask([group])
        assert single is not None, "one group can be asked of any broker"
        found.append(
            messages.Coordinator(
                key=group,
                node_id=single.node_id,
                host=single.host,
                port=single.port,
                error_code=single.error_code,
                error_message=single.error_message,
            )
        )
    return found


class _NoBatches(Exception):
    """The broker looks up only one coordinator per request."""


def log_unexpected(calls: Calls, handler: str, complaint: str, error: BrokerError) -> None:
    """One ERROR line, as Java's `handler` writes it; `complaint` has a placeholder for the error."""
    text = complaint.replace("{error}", error.code.name)
    logging.getLogger(f"org.apache.kafka.clients.admin.internals.{handler}").error("%s", calls.log_text(text))


def value_of(answers: Mapping[str, Value | BrokerError | KafkaException], group: str) -> Value:
    """The value for `group`. Raises its error."""
    answer = answers[group]
    if isinstance(answer, BrokerError | KafkaException):
        raise answer
    return answer
