"""One call of an admin client: retried, on another broker if needed, until its deadline.

Role        Acts, through `Cluster`. The only module that retries.
Invariants  Only transient failures are retried: no connection, a lost one, a controller that moved. Other error codes
            are returned, retriable or not, as in Kafka's own admin client.
            The wait doubles from retry.backoff.ms up to retry.backoff.max.ms.
            Every call may be repeated after it was sent: admin calls are idempotent.
Source      KafkaAdminClient.Call.fail, ControllerNodeProvider, TimeoutProcessor.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from kafka_zk.client.admin.cluster import Cluster, NoNode
from kafka_zk.client.config import ClientConfig
from kafka_zk.client.errors import DisconnectException, TimeoutException
from kafka_zk.client.network.backoff import backoff_of
from kafka_zk.protocol.errors import BrokerError, ErrorCode, NotController, error_class_for
from kafka_zk.protocol.message import Message

Request = TypeVar("Request")
Response = TypeVar("Response")

NODE_WAIT_S = 0.05
"""How long to wait before looking for a node again: the first reconnect.backoff.ms."""

log = logging.getLogger("org.apache.kafka.clients.admin.KafkaAdminClient")


def _accept(answer: object) -> None:
    """Check nothing: the response carries no error of its own."""


def raise_for(error_code: int, message: str | None) -> None:
    """Raise the BrokerError of a code in a response, with its message if there is one, else the default."""
    if error_code != ErrorCode.NONE:
        raise error_class_for(error_code)(message)


@dataclass(frozen=True, slots=True)
class Call(Generic[Request, Response]):
    """One call: `build(version)` makes the request, `check` raises the response's error.

    Errors in `may_pass` are retried on the same node.
    """

    name: str
    request: Message[Request]
    response: Message[Response]
    build: Callable[[int], Request]
    check: Callable[[Response], None] = _accept
    may_pass: tuple[type[BrokerError], ...] = ()


class Calls:
    """Calls to one cluster, with one client's timeout and retry settings."""

    def __init__(self, cluster: Cluster, config: ClientConfig, timeout_ms: int | None = None) -> None:
        """`timeout_ms` limits one call; None: default.api.timeout.ms."""
        self._cluster = cluster
        self._config = config
        self.backoff = backoff_of(config, "retry.backoff")
        self.timeout_ms = config.integer("default.api.timeout.ms") if timeout_ms is None else max(0, timeout_ms)

    def within(self, timeout_ms: int | None) -> Calls:
        """The same calls with another timeout; None keeps it."""
        return self if timeout_ms is None else Calls(self._cluster, self._config, timeout_ms)

    def log_text(self, text: str) -> str:
        """`text` with the prefix of this client's log lines."""
        return f"[{self._cluster.log_prefix}] {text}"

    def to_any_node(self, call: Call[Request, Response]) -> Response:
        """Blocks. Ask any broker."""
        return self._run(call, self._cluster.any_node)

    def to_controller(self, call: Call[Request, Response]) -> Response:
        """Blocks. Ask the controller, whichever broker that is."""
        return self._run(call, self._cluster.controller)

    def to_node(self, node_id: int | None, call: Call[Request, Response]) -> Response:
        """Blocks. Ask one broker; None: any of them."""
        if node_id is None:
            return self.to_any_node(call)
        return self._run(call, lambda deadline_s: self._cluster.node(node_id, deadline_s))

    def to_node_once(self, node_id: int, call: Call[Request, Response], deadline_s: float) -> Response:
        """Blocks. Ask one broker without retrying.

        Raises DisconnectException (no connection, or a lost one), TimeoutException, and what `check` raises.
        """
        self._cluster.node(node_id, deadline_s)
        answer = self._cluster.send(node_id, call.request, call.response, call.build, deadline_s=deadline_s)
        call.check(answer)
        return answer

    def to_any_node_once(self, call: Call[Request, Response], deadline_s: float) -> Response:
        """Blocks. The same for any broker reachable now. Raises NoNode, too."""
        node_id = self._cluster.any_node(deadline_s)
        answer = self._cluster.send(node_id, call.request, call.response, call.build, deadline_s=deadline_s)
        call.check(answer)
        return answer

    def _run(self, call: Call[Request, Response], find_node: Callable[[float], int]) -> Response:
        deadline_s = time.monotonic() + self.timeout_ms / 1000
        tries = 0
        retries = self._config.integer("retries")
        while True:
            try:
                node_id = find_node(deadline_s)
            except (DisconnectException, TimeoutException) as error:
                self._wait_for_node(call.name, deadline_s, error)
                continue
            try:
                answer = self._cluster.send(node_id, call.request, call.response, call.build, deadline_s=deadline_s)
                call.check(answer)
                return answer
            except (DisconnectException, TimeoutException, BrokerError) as error:
                tries += 1
                if isinstance(error, NotController):
                    self._cluster.forget_controller()
                elif isinstance(error, BrokerError) and not isinstance(error, call.may_pass):
                    raise
                if tries > retries:
                    raise
                self._wait_for_retry(call.name, tries, deadline_s, error)

    def _wait_for_node(self, name: str, deadline_s: float, error: Exception) -> None:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutException(f"Timed out waiting for a node assignment. Call: {name}") from None
        # A cluster between two controllers answers at once: pause before asking again.
        pause_s = NODE_WAIT_S if isinstance(error, NoNode) else self.backoff.wait_ms(1) / 1000
        time.sleep(min(left_s, pause_s))

    def _wait_for_retry(self, name: str, tries: int, deadline_s: float, error: Exception) -> None:
        wait_s = self.backoff.wait_ms(tries) / 1000
        left_s = deadline_s - time.monotonic()
        if wait_s >= left_s:
            raise timed_out(name, tries, left_s, wait_s) from error
        log.debug("Call %s failed: %s. Beginning retry #%s", name, error, tries)
        time.sleep(wait_s)


def timed_out(name: str, tries: int, left_s: float, wait_s: float) -> TimeoutException:
    """The error of a call whose next retry, in `wait_s`, would exceed its deadline, in `left_s`."""
    now_ms = time.time_ns() // 1_000_000
    return TimeoutException(
        f"Call(callName={name}, deadlineMs={now_ms + int(left_s * 1000)}, tries={tries}, "
        f"nextAllowedTryMs={now_ms + int(wait_s * 1000)}) timed out at {now_ms} after {tries} attempt(s)"
    )
