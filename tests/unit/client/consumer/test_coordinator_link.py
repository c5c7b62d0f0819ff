"""The thread that speaks to the coordinator, when something goes wrong in it that nobody thought of."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from kafka_zk.client.addresses import Address
from kafka_zk.client.consumer.group import coordinator_link
from kafka_zk.client.consumer.group.coordinator_link import CoordinatorLink
from kafka_zk.client.consumer.settings import GroupSettings
from kafka_zk.client.errors import KafkaException
from kafka_zk.client.network.backoff import ExponentialBackoff
from kafka_zk.client.network.cluster_snapshot import Node
from kafka_zk.clock import SystemClock
from kafka_zk.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafka_zk.protocol.messages.heartbeat import HEARTBEAT_REQUEST, HEARTBEAT_RESPONSE
from kafka_zk.protocol.messages.leave_group import LEAVE_GROUP_REQUEST, LEAVE_GROUP_RESPONSE

PATIENCE_S = 20
SETTINGS = GroupSettings("g", None, 10_000, 3_000, 300_000, True, None, 30_000, ExponentialBackoff(1, 1, lambda: 0.5))


class Network:
    """Answers who the coordinator is, and fails while it takes the answer in, the first time."""

    def __init__(self) -> None:
        self.look_count = 0
        self.sent_to_coordinator = threading.Event()
        self._answers: list[Any] = []
        self._woken = threading.Event()

    def least_loaded_node(self) -> int:
        return 1

    def add_node(self, node: Any) -> None:
        if self.look_count == 1:
            raise MemoryError("none left")

    def send(self, node_id: int, request: Any, response: Any, build: Any, on_answer: Any, *_: Any, **__: Any) -> None:
        if node_id == 1:
            self.look_count += 1
            self._answers.append(lambda: on_answer(FindCoordinatorResponse(node_id=7, host="h", port=1)))
        else:
            self.sent_to_coordinator.set()

    def poll(self, timeout_s: float) -> None:
        if self._answers:
            self._answers.pop()()
        elif self._woken.wait(timeout_s):
            self._woken.clear()

    def wakeup(self) -> None:
        self._woken.set()

    def close(self) -> None: ...


def test_a_fault_in_the_thread_is_raised_to_the_program_once_and_the_thread_goes_on() -> None:
    network, told = Network(), threading.Event()
    link = CoordinatorLink(cast(Any, network), SETTINGS, SystemClock(), told.set)
    link.ask(HEARTBEAT_REQUEST, HEARTBEAT_RESPONSE, lambda _: None, lambda _: None, lambda _: None)
    assert told.wait(PATIENCE_S)
    assert network.sent_to_coordinator.wait(PATIENCE_S)
    with pytest.raises(KafkaException, match="MemoryError: none left"):
        link.deliver()
    assert not link.deliver()
    assert network.look_count == 2
    link.close()


def test_a_thread_in_which_everything_fails_does_not_fail_without_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator_link, "FAILURE_PAUSE_S", PATIENCE_S)
    network, told, polls = Network(), threading.Event(), []

    def poll(timeout_s: float) -> None:
        polls.append(timeout_s)
        raise OSError("nothing works")

    monkeypatch.setattr(network, "poll", poll)
    link = CoordinatorLink(cast(Any, network), SETTINGS, SystemClock(), told.set)
    link.ask(HEARTBEAT_REQUEST, HEARTBEAT_RESPONSE, lambda _: None, lambda _: None, lambda _: None)
    assert told.wait(PATIENCE_S)
    link.close()
    assert len(polls) == 1


def test_what_was_asked_last_is_sent_though_nobody_waits_for_it() -> None:
    network, polls, may_return = Network(), threading.Event(), threading.Event()

    def poll(timeout_s: float) -> None:
        polls.set()
        may_return.wait(PATIENCE_S)

    network.poll = poll  # type: ignore[method-assign]
    link = CoordinatorLink(cast(Any, network), SETTINGS, SystemClock(), lambda: None)
    link.ask(LEAVE_GROUP_REQUEST, LEAVE_GROUP_RESPONSE, lambda _: None, lambda _: None, lambda _: None)
    assert polls.wait(PATIENCE_S)
    link.coordinator = Node(7, Address("h", 1))
    closing = threading.Thread(target=link.close)
    closing.start()
    assert link._stopping.wait(PATIENCE_S)
    may_return.set()
    closing.join()
    assert network.sent_to_coordinator.is_set()
