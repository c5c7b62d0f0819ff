"""Sends requests to ZooKeeper: pipelined, and again after a lost connection.

Role        Acts, through kazoo. Owned by one `ZkClient`.
Invariants  A connection loss is never reported. A read is sent again; so is one that set a watch and was answered over
            an earlier connection than the last of its batch. A write is sent again only after its znodes have
            been read: where they show that it was applied, its result is made of them (`lost_replies`), so its sender
            never meets its own NodeExists or BadVersion, and nothing is deleted twice. A write over a znode that
            was created since is refused.
            A write belongs to the generation it started in and is never sent in another one.
            A request that is too large for ZooKeeper, which would close the connection, is not sent. If ZooKeeper's
            limit is lower than we know, a large write that was lost twice is sent alone, and given up when it is lost
            again.
            A request that an old server may not know is sent alone, the first time over each connection: ZooKeeper
            3.5 refuses it before it answers those that came earlier, and kazoo's session ends. It is given up like a
            large write: the refusal may be lost with the connection.
Differs from Kafka: it sends such a request for ever, and all other requests are lost with its connections.
Source      KafkaZkClient.retryRequestsUntilConnected, ZooKeeperClient.send.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from gevent.lock import BoundedSemaphore
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionClosedError, ConnectionLoss, KazooException, SessionExpiredError

from kafka_zk.zk import kazoo_calls
from kafka_zk.zk.errors import ConnectionClosed, GivenUp, SessionExpired, TooLarge, ZkError
from kafka_zk.zk.kazoo_calls import Request
from kafka_zk.zk.limits import largest, request_bytes
from kafka_zk.zk.lost_replies import (
    Found,
    Sent,
    is_sequential,
    numbered,
    paths_to_read,
    refusal_if_made_anew,
    results_if_applied,
)
from kafka_zk.zk.session_life import SessionLife

LARGE_BYTES = 16 * 1024
"""No ensemble that serves brokers has a lower limit: a smaller request costs no connection and is never given up."""

LOST_TOGETHER, LOST_AT_ALL = 2, 3
"""After so many losses beside other requests a large write is sent alone; after so many in all it is given up."""


class RequestSender:
    """Sends requests over the session whose life is `life`, at most `max_in_flight` at a time.

    None of more than `max_request_bytes`.
    """

    def __init__(self, kazoo: KazooClient, life: SessionLife, *, max_in_flight: int, max_request_bytes: int) -> None:
        self._kazoo = kazoo
        self._life = life
        self._max_in_flight = max_in_flight
        self._max_request_bytes = max_request_bytes
        self._in_flight = BoundedSemaphore(max_in_flight)
        self._alone = BoundedSemaphore(1)
        self._known_over = 0
        """The last connection over which a request was answered that may be unknown."""
        self._now_ms: Callable[[], int] | None = None
        self._note_latency: Callable[[int], None] = _ignored

    def time_requests(self, now_ms: Callable[[], int], note_latency: Callable[[int], None]) -> None:
        """See `ZkClient.time_requests`."""
        self._now_ms = now_ms
        self._note_latency = note_latency

    def run(self, requests: Sequence[Request], generation: int | None = None) -> list[Any]:
        """Blocks. Send all; results in order: a value or a ZkError.

        With a `generation` these are writes: SessionExpired is raised as soon as it is over. Reads continue in the
        next session.
        """
        results: list[Any] = [None] * len(requests)
        first_sent: dict[int, Sent] = {}
        sent_over: dict[int, int] = {}
        lost: Counter[int] = Counter()
        sizes = [request_bytes(request.operations, chroot=self._kazoo.chroot) for request in requests]
        unanswered = []
        for index, size in enumerate(sizes):
            if size > self._max_request_bytes:
                results[index] = self._too_large(requests[index], size)
            else:
                unanswered.append(index)
        while unanswered:
            self._life.connected.wait()
            if first_sent:
                unanswered = self._not_applied(requests, unanswered, first_sent, generation, results)
                for index in [index for index in unanswered if lost[index] >= LOST_AT_ALL]:
                    results[index] = _given_up(requests[index], sizes[index])
                    unanswered.remove(index)
            answers = []
            for index in unanswered:
                first_sent.setdefault(index, self._known_now())
                is_alone = lost[index] >= LOST_TOGETHER or self._is_unknown_yet(requests[index])
                send = self._send_alone if is_alone else self._send
                answers.append((index, send(requests[index], generation)))
                sent_over[index] = self._life.connection
            unanswered = []
            for index, answer in answers:
                request = requests[index]
                try:
                    results[index] = request.read(answer.get())
                    if request.may_be_unknown:
                        self._known_over = sent_over[index]
                except ConnectionLoss:
                    lost[index] += sizes[index] >= LARGE_BYTES or request.may_be_unknown
                    unanswered.append(index)
                except SessionExpiredError as error:
                    if generation is not None or isinstance(error, ConnectionClosedError):
                        self._refuse_if_over(generation)
                    unanswered.append(index)
                except KazooException as error:
                    results[index] = kazoo_calls.translated(error, request.path)
            # The watches that an earlier connection took with it are set by asking again.
            now_over = self._life.connection
            without_watch = [i for i, over in sent_over.items() if requests[i].sets_watch and over != now_over]
            unanswered = sorted({*unanswered, *without_watch})
        return results

    def _known_now(self) -> Sent:
        session_id = int(self._kazoo.client_id[0]) if self._kazoo.client_id else 0
        return Sent(session_id, int(self._kazoo.last_zxid))

    # -- after a lost connection

    def _not_applied(
        self,
        requests: Sequence[Request],
        unanswered: list[int],
        first_sent: dict[int, Sent],
        generation: int | None,
        results: list[Any],
    ) -> list[int]:
        """Blocks. The unanswered requests that have to be sent again; the results of the others are set."""
        doubtful = [index for index in unanswered if index in first_sent and requests[index].operations]
        if not doubtful:
            return unanswered
        self._refuse_if_over(generation)
        found = self._read_again([requests[index] for index in doubtful])
        again = []
        for index in unanswered:
            request = requests[index]
            settled: list[Any] | None = None
            if index in first_sent and request.operations:
                question = (request.operations, found, first_sent[index])
                settled = results_if_applied(*question) or refusal_if_made_anew(*question)
            if settled is not None:
                results[index] = request.of_results(settled)
            elif index in first_sent and not request.is_still_meant():
                results[index] = request.of_results([operation.path for operation in request.operations])
            else:
                again.append(index)
        return again

    def _read_again(self, writes: Sequence[Request]) -> dict[str, Found | None]:
        """Blocks. The znodes that tell whether these were applied, as they are now."""
        operations = [operation for request in writes for operation in request.operations]
        prefixes = {operation.path for operation in operations if is_sequential(operation)}
        paths = paths_to_read(operations)
        # What the lost connection's server has passed on is applied before the answer to this; what it has not passed
        # on is refused from now on: the session has moved.
        self.run([kazoo_calls.sync("/")])
        parents = sorted({prefix.rpartition("/")[0] or "/" for prefix in prefixes})
        for parent, answer in zip(
            parents, self.run([kazoo_calls.children(parent, None) for parent in parents]), strict=True
        ):
            if not isinstance(answer, ZkError):
                for prefix in prefixes:
                    if (prefix.rpartition("/")[0] or "/") == parent:
                        paths += numbered(prefix, answer[0])
        wanted = list(dict.fromkeys(paths))
        answers = self.run([kazoo_calls.get(path, None) for path in wanted])
        return {
            path: None if isinstance(answer, ZkError) else Found(*answer)
            for path, answer in zip(wanted, answers, strict=True)
        }

    # -- one request

    def _send(self, request: Request, generation: int | None) -> Any:
        self._in_flight.acquire()
        try:
            self._refuse_if_over(generation)
            answer = request.send(self._kazoo)
        except BaseException:
            # Nothing was sent, so no answer will release the slot.
            self._in_flight.release()
            raise
        now_ms = self._now_ms
        began_ms = now_ms() if now_ms else 0

        def answered(_: Any) -> None:
            self._in_flight.release()
            if now_ms:
                self._note_latency(now_ms() - began_ms)

        answer.rawlink(answered)
        return answer

    def _send_alone(self, request: Request, generation: int | None) -> Any:
        """Blocks. Send it when nothing else is in flight, and wait for its outcome."""
        with self._alone:
            for _ in range(self._max_in_flight - 1):
                self._in_flight.acquire()
            try:
                answer = self._send(request, generation)
                answer.wait()
                return answer
            finally:
                for _ in range(self._max_in_flight - 1):
                    self._in_flight.release()

    def _is_unknown_yet(self, request: Request) -> bool:
        return request.may_be_unknown and self._known_over != self._life.connection

    def _too_large(self, request: Request, size_bytes: int) -> TooLarge:
        heaviest = largest(request.operations)
        path = request.path if heaviest is None else heaviest.path
        return TooLarge(
            path,
            f"The value of {path} is too large for ZooKeeper: writing it takes {size_bytes} bytes, but a request is "
            f"limited to {self._max_request_bytes} (jute.maxbuffer).",
        )

    def _refuse_if_over(self, generation: int | None) -> None:
        if self._life.is_over:
            raise ConnectionClosed(detail="The ZooKeeper client is closed")
        if generation is not None and generation != self._life.generation:
            raise SessionExpired(detail=f"The session of generation {generation} has expired")


def _given_up(request: Request, size_bytes: int) -> GivenUp:
    heaviest = largest(request.operations)
    path = request.path if heaviest is None else heaviest.path
    return GivenUp(
        path,
        f"ZooKeeper closed {LOST_AT_ALL} connections on the write of {path}, {size_bytes} bytes: its jute.maxbuffer "
        "may be smaller than the one in this broker's KAFKA_OPTS.",
    )


def _ignored(latency_ms: int) -> None:
    """For a client without request metrics."""
