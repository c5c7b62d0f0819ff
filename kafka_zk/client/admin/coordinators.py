"""Sends requests about groups, or transactional ids, to their coordinators, looking these up until the deadline.

Role        Acts, through `Calls`. Callers define the request that one coordinator gets about some of the keys.
Invariants  Coordinators of several keys are looked up in one request where the broker can (FindCoordinator v4).
            A key that fails does not affect the others. A coordinator that moved, or whose
            connection broke, is looked up again; one that is loading is asked again.
Source      AdminApiDriver, CoordinatorStrategy.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Generic, TypeAlias, TypeVar

from kafka_zk.client.admin.admin_results import Node
from kafka_zk.client.admin.calls import Call, Calls, timed_out
from kafka_zk.client.errors import DisconnectException, KafkaException, TimeoutException
from kafka_zk.protocol.errors import BrokerError, ErrorCode, error_class_for
from kafka_zk.protocol.messages import find_coordinator as messages

COORDINATORS_BY_LIST = 4

Key = TypeVar("Key")
Value = TypeVar("Value")


class KeyType(IntEnum):
    """What is coordinated: a key is a group id or a transactional id."""

    GROUP = 0
    TRANSACTION = 1


_DENIED = {
    KeyType.GROUP: (ErrorCode.GROUP_AUTHORIZATION_FAILED, "groupId"),
    KeyType.TRANSACTION: (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "transactionalId"),
}


class Again(Enum):
    """Why the request about a key is retried."""

    LOADING = "the coordinator is loading"
    MOVED = "the coordinator is elsewhere"


Outcome: TypeAlias = Value | BrokerError | KafkaException | Again


def outcome_of(error_code: int, message: str | None = None) -> BrokerError | Again:
    """The meaning of a key's error code."""
    if error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return Again.LOADING
    if error_code in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR):
        return Again.MOVED
    return error_class_for(error_code)(message)


@dataclass(frozen=True, slots=True)
class CoordinatorCall(Generic[Value]):
    """One kind of request: its name, its API, and how to ask a coordinator about keys.

    `ask(calls, coordinator, keys, deadline_s)` blocks, and returns a result for every key. `expected` errors are
    left to the caller; other errors are also logged with `complaint`, as Java's class `handler` does.
    """

    name: str
    api: str
    handler: str
    complaint: str
    ask: Callable[[Calls, Node, list[str], float], Mapping[str, Outcome[Value]]]
    expected: Collection[ErrorCode]
    key_type: KeyType = KeyType.GROUP

    def step(self, api: str) -> str:
        """The name of one of its requests in errors."""
        return f"{self.name}(api={api})"


@dataclass(slots=True)
class _Driver(Generic[Value]):
    """The state of one call, by key."""

    calls: Calls
    call: CoordinatorCall[Value]
    deadline_s: float
    unmapped: list[str]
    mapped: dict[str, Node] = field(default_factory=dict)
    found: dict[str, Value | BrokerError | KafkaException] = field(default_factory=dict)
    tries: int = 0

    def look_up(self) -> None:
        """Blocks. Find coordinators for the keys that have none."""
        name = self.call.step("FIND_COORDINATOR")
        wanted, self.unmapped = self.unmapped, []
        left_ms = int((self.deadline_s - time.monotonic()) * 1000)
        try:
            for found in coordinators_of(self.calls.within(left_ms), wanted, name, self.call.key_type):
                self._take_coordinator(found)
        except (BrokerError, KafkaException) as error:
            for key in wanted:
                if key not in self.mapped and key not in self.found:
                    self.found[key] = error

    def _take_coordinator(self, found: messages.Coordinator) -> None:
        key = found.key
        if found.error_code == ErrorCode.NONE:
            self.mapped[key] = Node(found.node_id, found.host, found.port, None)
        elif found.error_code in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
            self.unmapped.append(key)
        else:
            key_text = f"CoordinatorKey(idValue='{key}', type={self.call.key_type.name})"
            denied, kind = _DENIED[self.call.key_type]
            self.found[key] = error_class_for(found.error_code)(
                f"FindCoordinator request for {kind} `{key_text}` failed due to authorization failure"
                if found.error_code == denied
                else f"FindCoordinator request for key `{key_text}` failed due to an unexpected error"
            )

    def ask_all(self) -> None:
        """Blocks. Ask each coordinator about its keys."""
        by_node: dict[Node, list[str]] = {}
        for key, node in self.mapped.items():
            by_node.setdefault(node, []).append(key)
        for node, keys in by_node.items():
            try:
                outcomes = self.call.ask(self.calls, node, keys, self.deadline_s)
            except DisconnectException:
                outcomes = dict.fromkeys(keys, Again.MOVED)
            except TimeoutException as error:
                late = self._timed_out(self.call.api, self.tries + 1)
                late.__cause__ = error
                outcomes = dict.fromkeys(keys, late)
            except (BrokerError, KafkaException) as error:
                outcomes = dict.fromkeys(keys, error)
            for key in keys:
                self._take(key, outcomes[key])

    def _take(self, key: str, outcome: Outcome[Value]) -> None:
        if outcome is Again.LOADING:
            return
        del self.mapped[key]
        if isinstance(outcome, Again):
            self.unmapped.append(key)
            return
        self.found[key] = outcome
        if isinstance(outcome, BrokerError) and outcome.code not in self.call.expected:
            log_unexpected(self.calls, self.call.handler, self.call.complaint.replace("{group}", key), outcome)

    def pending(self) -> list[str]:
        return [*self.unmapped, *self.mapped]

    def give_up(self, wait_s: float) -> None:
        """The next try, `wait_s` from now, would exceed the deadline."""
        for api, keys in (("FIND_COORDINATOR", self.unmapped), (self.call.api, self.mapped)):
            self.found.update(dict.fromkeys(keys, self._timed_out(api, self.tries, wait_s)))

    def _timed_out(self, api: str, tries: int, wait_s: float = 0) -> TimeoutException:
        return timed_out(self.call.step(api), tries, self.deadline_s - time.monotonic(), wait_s)


def ask_coordinators(
    calls: Calls, keys: Collection[str], call: CoordinatorCall[Value]
) -> dict[str, Value | BrokerError | KafkaException]:
    """Blocks. A value or an error for each of `keys`, in their order."""
    wanted = list(dict.fromkeys(keys))
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
    return {key: driver.found[key] for key in wanted}


def coordinators_of(calls: Calls, wanted: list[str], name: str, key_type: KeyType) -> list[messages.Coordinator]:
    """Blocks. Returns one answer for each key, in the newer form; an old broker gets one request per key."""

    def ask(keys: list[str]) -> messages.FindCoordinatorResponse | None:
        alone = len(keys) == 1

        def build(version: int) -> messages.FindCoordinatorRequest:
            if version >= COORDINATORS_BY_LIST:
                return messages.FindCoordinatorRequest(key_type=key_type, coordinator_keys=keys)
            if not alone:
                raise _NoBatches
            return messages.FindCoordinatorRequest(key=keys[0], key_type=key_type)

        request, response = messages.FIND_COORDINATOR_REQUEST, messages.FIND_COORDINATOR_RESPONSE
        try:
            return calls.to_any_node(Call(name, request, response, build))
        except _NoBatches:
            return None

    answer = ask(wanted)
    if answer is not None and answer.coordinators:
        return answer.coordinators
    found = []
    for key in wanted:
        single = answer if answer is not None and len(wanted) == 1 else ask([key])
        assert single is not None, "one key can be asked of any broker"
        found.append(
            messages.Coordinator(
                key=key,
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


def value_of(answers: Mapping[Key, Value | BrokerError | KafkaException], key: Key) -> Value:
    """The value for `key`. Raises its error."""
    answer = answers[key]
    if isinstance(answer, BrokerError | KafkaException):
        raise answer
    return answer
