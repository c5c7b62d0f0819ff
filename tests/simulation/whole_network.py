"""The network of a simulated cluster: connections that are late, cut one way or both, or reset.

What one connection carries keeps its order, for it carries one request at a time; between connections there is no
order. A direction that is cut swallows what is sent: who waits learns it from its own timeout. A connection of a
process that ended is reset at once. What travels belongs to nobody: a request of a dead process still arrives.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gevent

from kafka_zk.api.error_form import error_response
from kafka_zk.network.errors import NetworkError
from kafka_zk.network.pending import Pending, completed
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.errors import BrokerError
from tests.simulation.whole_processes import Process, Processes

if TYPE_CHECKING:
    from kafka_zk.clock import Clock
    from tests.simulation.whole_members import Member

APIS = {f"{api.name}Request": api for api in API_TABLE.values()}
FIRST_CLIENT = 100
"""Ends below it are brokers."""
TIMEOUT_MS = 2_000
"""How long an end waits for an answer. The brokers' default of 30 s would make most lives wait only."""
LATE, MOST_LATE_TURNS = 0.03, 60
"""How often something on its way takes long."""


class Network:
    """`cuts`: the directions, each from one end to another, that carry nothing."""

    def __init__(self, chance: random.Random, processes: Processes) -> None:
        self.chance = chance
        self._processes = processes
        self._way = Process("the network")
        self.members: dict[int, Member] = {}
        """By broker id: who listens there."""
        self.cuts: set[tuple[int, int]] = set()
        self.lost_answers: set[tuple[int, str]] = set()
        """Who asked, and what: the next such answer is lost, and the connection stands still."""
        self.is_troubled = True
        self._open: list[Connection] = []

    def connect(self, to: int, sender: int, clock: Clock) -> Connection:
        """Blocks. Raises NetworkError."""
        self.travel()
        member = self.members.get(to)
        if member is None or not member.is_listening or {(sender, to), (to, sender)} & self.cuts:
            raise NetworkError("nobody answers")
        connection = Connection(self, member, sender, clock)
        self._open = [each for each in self._open if not each.is_closed]
        self._open.append(connection)
        return connection

    def carry(self, work: Callable[..., None], *arguments: Any) -> None:
        """What is on its way goes on whatever becomes of who sent it."""
        self._processes.spawn(self._way, work, *arguments)

    def travel(self) -> None:
        """Blocks for as long as something is on its way."""
        for _ in range(self._turns()):
            gevent.sleep(0)

    def _turns(self) -> int:
        if self.is_troubled and self.chance.random() < LATE:
            return self.chance.randrange(MOST_LATE_TURNS)
        return self.chance.choice((0, 0, 1, 2))

    def close(self) -> None:
        """Blocks. Nothing is on its way any more."""
        self._processes.kill(self._way)

    def reset(self, end: int) -> None:
        """The process at this end is gone: the other ends of its connections learn it."""
        for connection in self._open:
            if end in connection.ends:
                connection.close()


class Connection:
    """One request at a time, from `sender` to a broker."""

    def __init__(self, network: Network, to: Member, sender: int, clock: Clock) -> None:
        self._network = network
        self._to = to
        self._sender = network.members.get(sender)
        """None: a client."""
        self._clock = clock
        self._way = sender, to.broker_id
        self._answer: Pending[bytes] | None = None
        self.ends = {sender, to.broker_id}
        self.is_closed = False

    def send(self, request: Any, api_version: int, timeout_ms: int = TIMEOUT_MS, *, body: bytes | None = None) -> Any:
        """Blocks. Raises NetworkError."""
        if self._sender is not None:
            self._sender.wait_while_frozen()
        if self.is_closed:
            raise NetworkError("closed")
        api = APIS[type(request).__name__]
        answer = self._answer = Pending()
        over = self._clock.call_at(
            self._clock.monotonic_ms() + timeout_ms, lambda: answer.fail(NetworkError("no answer in time")) and None
        )
        sent = api.request.encode(request, api_version) if body is None else body
        self._network.carry(self._arrive, api, sent, api_version, answer)
        try:
            data = answer.result(None)
        except NetworkError:
            self.close()
            raise
        finally:
            over.cancel()
        return api.response.decode(memoryview(data), api_version)

    def _arrive(self, api: Any, sent: Any, api_version: int, answer: Pending[bytes]) -> None:
        """Blocks. What was sent is on its way."""
        self._network.travel()
        self._to.wait_while_frozen()
        if self._way in self._network.cuts:
            return
        if not self._to.is_listening:
            answer.fail(NetworkError("reset"))
            return
        request = api.request.decode(memoryview(sent), api_version)
        self._to.spawn(self._serve, api, request, api_version, answer)

    def _serve(self, api: Any, request: Any, api_version: int, answer: Pending[bytes]) -> None:
        """Blocks. In the broker's process."""
        broker = self._to.broker
        served = self._to.served[type(request).__name__]

        def reply(done: Pending[Any]) -> None:
            if done.error is None:
                response = done.value
            else:
                response = error_response(
                    served.errors, served.request, served.response, request, api_version, done.error
                )
            data = b"".join(map(_bytes_of, api.response.encode_parts(response, api_version)))
            lost = self._way[0], type(request).__name__
            if lost in self._network.lost_answers:
                self._network.lost_answers.remove(lost)
            else:
                self._network.carry(self._return, data, answer)

        try:
            response = broker.call(request, api_version)
        except BrokerError as error:
            response = Pending()
            response.fail(error)
        (response if isinstance(response, Pending) else completed(response)).on_complete(reply)

    def _return(self, data: bytes, answer: Pending[bytes]) -> None:
        """Blocks. The answer is on its way back."""
        self._network.travel()
        self._to.wait_while_frozen()
        if self._sender is not None:
            self._sender.wait_while_frozen()
        if (self._way[1], self._way[0]) not in self._network.cuts:
            answer.complete(data)

    def close(self) -> None:
        self.is_closed = True
        if self._answer is not None:
            self._answer.fail(NetworkError("closed"))


def _bytes_of(part: Any) -> bytes:
    if isinstance(part, bytes | bytearray | memoryview):
        return bytes(part)
    try:
        data: bytes = part.read()
        return data
    finally:
        part.release()
