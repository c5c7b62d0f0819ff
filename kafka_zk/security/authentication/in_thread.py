"""A mechanism whose steps take time: files are locked and read, keys computed with.

Role        Acts: each step runs in a thread of a pool, and the connection's greenlet waits for it.
"""

from __future__ import annotations

from kafka_zk.sasl.server.mechanism import ExchangeInterrupted, Identity, InvalidExchange, SaslRefused, ServerMechanism
from kafka_zk.worker_pool import WorkerPool


class InThread:
    """A ServerMechanism that leaves the loop to others."""

    def __init__(self, mechanism: ServerMechanism, pool: WorkerPool) -> None:
        self._pool = pool
        self._mechanism = mechanism
        self.identity: Identity | None = None

    def respond(self, token: bytes) -> bytes | None:
        """Blocks. Raises what the mechanism raises."""
        outcome = self._pool.apply(_outcome, (self._mechanism, token))
        if isinstance(outcome, Exception):
            raise outcome
        self.identity = self._mechanism.identity
        return outcome


def _outcome(
    mechanism: ServerMechanism, token: bytes
) -> bytes | SaslRefused | InvalidExchange | ExchangeInterrupted | None:
    """Errors are returned: the hub would print what a thread raises."""
    try:
        return mechanism.respond(token)
    except (SaslRefused, InvalidExchange, ExchangeInterrupted) as error:
        return error
