"""The connection to the group coordinator, on its own thread.

Role        Acts. The program's thread queues requests and is called back by `deliver`, in its own thread. The link's
            thread finds the coordinator, sends, and keeps heartbeats going while the program processes records.
Invariants  Only `deliver` calls outcomes, each once, in order of arrival.
            An unexpected error is raised once by `deliver`, in the program's thread, and the link continues.
            No lock is held while the program's code runs; `wakeup` of the consumer takes no lock.
            The thread ends with the link; as a daemon, it keeps no program alive.
Source      AbstractCoordinator (HeartbeatThread, lookupCoordinator), Heartbeat, ConsumerNetworkClient.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from kafka_zk.client.consumer.group.member_requests import heartbeat, leave_group
from kafka_zk.client.consumer.group.membership import Identity
from kafka_zk.client.consumer.settings import GroupSettings
from kafka_zk.client.errors import DisconnectException, TimeoutException, wrapped
from kafka_zk.client.network.cluster_snapshot import Node
from kafka_zk.client.network.coordinator_lookup import (
    CoordinatorType,
    find_coordinator,
    found_coordinator,
    own_connection_of,
)
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.client.refusals import error_about_group
from kafka_zk.clock import Clock
from kafka_zk.protocol.errors import ErrorCode, code_of, is_retriable
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.find_coordinator import FIND_COORDINATOR_REQUEST, FIND_COORDINATOR_RESPONSE
from kafka_zk.protocol.messages.heartbeat import HEARTBEAT_REQUEST, HEARTBEAT_RESPONSE, HeartbeatResponse
from kafka_zk.protocol.messages.leave_group import LEAVE_GROUP_REQUEST, LEAVE_GROUP_RESPONSE

_IDLE_S: Final = 10.0
FAILURE_PAUSE_S = 0.1
_NOT_IN_THE_GROUP: Final = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.FENCED_INSTANCE_ID,
)

log = logging.getLogger("org.apache.kafka.clients.consumer.internals.ConsumerCoordinator")


@dataclass(slots=True)
class _Question:
    request: Message[Any]
    response: Message[Any]
    build: Callable[[int], Any]
    on_answer: Callable[[Any], None]
    on_error: Callable[[Exception], None]
    deadline_ms: int
    timeout_ms: int | None


class CoordinatorLink:
    """Of one consumer."""

    def __init__(
        self, network: NetworkClient, settings: GroupSettings, clock: Clock, notify: Callable[[], None]
    ) -> None:
        """`network` is the link's own; `notify` is called in its thread when there is something to deliver."""
        self._network = network
        self._settings = settings
        self._clock = clock
        self._notify = notify
        self._inbox: deque[_Question] = deque()
        self._questions: deque[_Question] = deque()
        self._outcomes: deque[Callable[[], None]] = deque()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._node_id: int | None = None
        self._is_looking = False
        self._look_again_ms = 0
        self._look_failures = 0
        self._beats_as: Identity | None = None
        self._next_beat_ms = 0
        self._last_answer_ms = 0
        self._last_poll_ms = clock.monotonic_ms()
        self._is_beating = False
        self._failure: Exception | None = None
        self.on_beat: Callable[[Identity, int], None] = lambda *_: None
        self.on_slow_poll: Callable[[Identity], None] = lambda _: None
        self.coordinator: Node | None = None
        self.beat_count = 0
        self.last_beat_ms: int | None = None

    def __repr__(self) -> str:
        return f"coordinator={self.coordinator} beats as {self._beats_as}, {len(self._questions)} waiting"

    # --- called by the program's thread ------------------------------------------------------------------------------

    def ask(
        self,
        request: Message[Any],
        response: Message[Any],
        build: Callable[[int], Any],
        on_answer: Callable[[Any], None],
        on_error: Callable[[Exception], None],
        *,
        timeout_ms: int | None = None,
    ) -> None:
        """Ask the coordinator, as soon as one is found. Fails as NetworkClient.send does.

        Fails with TimeoutException after `timeout_ms`, else request.timeout.ms, also if no coordinator is found.
        Raises RuntimeError, and asks nothing, if the system has no thread for the link.
        """
        wait_ms = self._settings.request_timeout_ms if timeout_ms is None else timeout_ms
        deadline_ms = self._clock.monotonic_ms() + wait_ms
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="kafka-coordinator-heartbeat-thread", daemon=True)
            try:
                self._thread.start()
            except Exception:
                # The system has no thread: the next request tries again. Not so after Ctrl-C, when the thread runs.
                self._thread = None
                raise
        self._inbox.append(_Question(request, response, build, on_answer, on_error, deadline_ms, timeout_ms))
        self._network.wakeup()

    def deliver(self) -> bool:
        """Call outcomes that have arrived; returns whether any had. Raises the link's own error as KafkaException."""
        delivered = bool(self._outcomes)
        while self._outcomes:
            self._outcomes.popleft()()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise wrapped(failure)
        return delivered

    def beat_as(self, identity: Identity | None) -> None:
        """Send heartbeats as this member from now on; None: send none."""
        now_ms = self._clock.monotonic_ms()
        if identity is not None and identity != self._beats_as:
            self._last_answer_ms, self._next_beat_ms = now_ms, now_ms + self._settings.heartbeat_interval_ms
        self._beats_as = identity
        self._network.wakeup()

    def note_poll(self) -> None:
        """The program polled: it is alive."""
        self._last_poll_ms = self._clock.monotonic_ms()

    def lose_coordinator(self, reason: str) -> None:
        """A response said that the group has another coordinator now."""
        if self.coordinator is not None:
            log.info("Group coordinator %s is unavailable or invalid due to cause: %s. Rediscovery will be attempted.",
                     self.coordinator, reason)  # fmt: skip
        self.coordinator = None
        self._network.wakeup()

    def close(self) -> None:
        """Blocks. End the thread and the connections; open requests fail, and are not delivered."""
        self._stopping.set()
        self._network.wakeup()
        if self._thread is not None:
            self._thread.join()
        else:
            self._network.close()

    # --- the link's thread -------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    self._turn()
                except Exception as error:
                    # A bug, or out of memory. If the thread ended, the program would poll for ever and
                    # never see why: Java raises it from poll, and restarts the thread.
                    self._note_failure(error)
                    # Pause: an immediate retry would fail again, and fill the program's log.
                    self._stopping.wait(FAILURE_PAUSE_S)
            # Send the last requests, such as LeaveGroup, if they can be sent at once.
            self._send_questions(self._clock.monotonic_ms())
        finally:
            self._network.close()

    def _turn(self) -> None:
        now_ms = self._clock.monotonic_ms()
        due_ms = min(self._send_questions(now_ms), self._beat(now_ms))
        self._network.poll(max(0.0, min(_IDLE_S, (due_ms - now_ms) / 1000)))

    def _note_failure(self, error: Exception) -> None:
        log.error("Heartbeat thread failed due to unexpected error", exc_info=error)
        self._failure = error
        # The response may be what caused the error.
        self._is_beating = False
        self._look_later(str(error))
        self._next_beat_ms = self._look_again_ms
        self._notify()

    def _finish(self, outcome: Callable[[], None]) -> None:
        self._outcomes.append(outcome)
        self._notify()

    def _send_questions(self, now_ms: int) -> int:
        """Send queued requests if the coordinator is known. Returns when something is due next."""
        while self._inbox:
            self._questions.append(self._inbox.popleft())
        for question in [each for each in self._questions if now_ms >= each.deadline_ms]:
            self._questions.remove(question)
            reason = TimeoutException("Timed out waiting for the group coordinator")
            self._finish(partial(question.on_error, reason))
        if not self._questions and self._beats_as is None:
            return now_ms + int(_IDLE_S * 1000)
        coordinator = self.coordinator
        if coordinator is None:
            self._look(now_ms)
            due_ms = min((each.deadline_ms for each in self._questions), default=now_ms + 1000)
            return min(due_ms, now_ms + 1000 if self._is_looking else max(self._look_again_ms, now_ms + 1))
        while self._questions:
            self._send(self._questions.popleft(), coordinator.id)
        return now_ms + int(_IDLE_S * 1000)

    def _send(self, question: _Question, node_id: int) -> None:
        self._network.send(
            node_id,
            question.request,
            question.response,
            question.build,
            lambda answer: self._finish(partial(question.on_answer, answer)),
            lambda error: self._failed(error, question),
            timeout_ms=question.timeout_ms,
        )

    def _failed(self, error: Exception, question: _Question) -> None:
        if isinstance(error, DisconnectException | TimeoutException):
            self.lose_coordinator(str(error))
        self._finish(partial(question.on_error, error))

    # --- who it is ---------------------------------------------------------------------------------------------------

    def _look(self, now_ms: int) -> None:
        if self._is_looking or now_ms < self._look_again_ms:
            return
        node_id = self._network.least_loaded_node()
        if node_id is None:
            self._look_again_ms = now_ms + 50
            return
        self._is_looking = True
        group_id = self._settings.group_id
        self._network.send(
            node_id,
            FIND_COORDINATOR_REQUEST,
            FIND_COORDINATOR_RESPONSE,
            lambda version: find_coordinator(CoordinatorType.GROUP, group_id, version),
            lambda answer: self._found(*found_coordinator(answer)),
            lambda error: self._look_later(str(error)),
        )

    def _found(self, error_code: int, message: str | None, node: Node | None) -> None:
        if error_code == ErrorCode.NONE and node is not None:
            self._is_looking, self._look_failures = False, 0
            node = own_connection_of(node)
            log.info("Discovered group coordinator %s", node)
            self._network.add_node(node)
            self.coordinator = node
            self._last_answer_ms = self._clock.monotonic_ms()
            return
        self._look_later(message or code_of(error_code).name)
        if not is_retriable(error_code):
            error = error_about_group(error_code, self._settings.group_id)
            while self._questions:
                self._finish(partial(self._questions.popleft().on_error, error))

    def _look_later(self, reason: str) -> None:
        log.debug("Coordinator discovery failed: %s, will retry", reason)
        self._is_looking = False
        self._look_failures += 1
        wait_ms = self._settings.retry_backoff.wait_ms(self._look_failures)
        self._look_again_ms = self._clock.monotonic_ms() + wait_ms

    # --- the heart ---------------------------------------------------------------------------------------------------

    def _beat(self, now_ms: int) -> int:
        identity = self._beats_as
        if identity is None:
            return now_ms + int(_IDLE_S * 1000)
        settings = self._settings
        poll_deadline_ms = self._last_poll_ms + settings.max_poll_interval_ms
        if now_ms >= poll_deadline_ms:
            self._leave_slow_poll(identity)
            return now_ms
        coordinator = self.coordinator
        if coordinator is not None and now_ms - self._last_answer_ms >= settings.session_timeout_ms:
            self.lose_coordinator("session timed out without receiving a heartbeat response")
            # Close its connection: no heartbeat is sent while one hangs there.
            self._network.disconnect(coordinator.id)
            coordinator = None
        if coordinator is None:
            self._look(now_ms)
            return min(
                poll_deadline_ms, max(self._look_again_ms, now_ms + 1) if not self._is_looking else now_ms + 1000
            )
        if not self._is_beating and now_ms >= self._next_beat_ms:
            self._is_beating = True
            self._next_beat_ms = now_ms + settings.heartbeat_interval_ms
            self._network.send(
                coordinator.id,
                HEARTBEAT_REQUEST,
                HEARTBEAT_RESPONSE,
                lambda version: heartbeat(settings, identity, version),
                lambda answer: self._beaten(identity, answer),
                self._beat_failed,
            )
        return min(poll_deadline_ms, self._next_beat_ms if not self._is_beating else now_ms + 1000)

    def _beaten(self, identity: Identity, answer: HeartbeatResponse) -> None:
        self._is_beating = False
        self.beat_count += 1
        self.last_beat_ms = self._last_answer_ms = self._clock.monotonic_ms()
        if answer.error_code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
            self.lose_coordinator(code_of(answer.error_code).name)
        elif answer.error_code in _NOT_IN_THE_GROUP and identity == self._beats_as:
            self._beats_as = None
        if answer.error_code != ErrorCode.NONE:
            self._finish(partial(self.on_beat, identity, answer.error_code))

    def _beat_failed(self, error: Exception) -> None:
        self._is_beating = False
        self._next_beat_ms = self._clock.monotonic_ms() + self._settings.retry_backoff.wait_ms(1)
        self.lose_coordinator(str(error))

    def _leave_slow_poll(self, identity: Identity) -> None:
        log.warning(
            "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than "
            "the configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time "
            "processing messages. You can address this either by increasing max.poll.interval.ms or by reducing the "
            "maximum size of batches returned in poll() with max.poll.records."
        )
        self._beats_as = None
        coordinator = self.coordinator
        if coordinator is not None and self._settings.group_instance_id is None:
            self._network.send(
                coordinator.id,
                LEAVE_GROUP_REQUEST,
                LEAVE_GROUP_RESPONSE,
                lambda version: leave_group(self._settings, identity, "consumer poll timeout has expired.", version),
                lambda _: None,
                lambda _: None,
            )
        self._finish(partial(self.on_slow_poll, identity))
