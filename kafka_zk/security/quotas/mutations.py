"""The mutation quota of one request: tokens for each partition created or deleted.

Role        Pure. Decides; the time comes from a clock, because parts of a request may be far apart.
Invariants  A strict quota refuses all of a request's topics from the one on that finds the bucket overdrawn; a
            permissive one lets everything through and only has the client wait.
Source      ControllerMutationQuota and its three kinds; KIP-599.
"""

from __future__ import annotations

from typing import Protocol

from kafka_zk.clock import Clock
from kafka_zk.protocol.errors import ThrottlingQuotaExceeded
from kafka_zk.security.quotas.usage import Usage


class MutationQuota(Protocol):
    """What a request asks before each change."""

    def record(self, partition_count: int) -> None:
        """Raises ThrottlingQuotaExceeded where the change must not be made."""

    def throttle_ms(self) -> int:
        """How long the client shall wait from now on."""


class Unbounded:
    """No quota is configured."""

    def record(self, partition_count: int) -> None:
        """Whatever is asked."""

    def throttle_ms(self) -> int:
        return 0


class Bounded:
    """The quota of `user` and `client_id`."""

    def __init__(self, usage: Usage, clock: Clock, user: str, client_id: str, *, strict: bool) -> None:
        self._usage = usage
        self._clock = clock
        self._user = user
        self._client_id = client_id
        self._strict = strict
        self._wait_until_ms = 0

    def record(self, partition_count: int) -> None:
        now_ms = self._clock.monotonic_ms()
        wait_ms = self._usage.take_tokens(
            self._user, self._client_id, partition_count, now_ms, overdraw=not self._strict
        )
        if wait_ms:
            self._wait_until_ms = now_ms + wait_ms
            if self._strict:
                raise ThrottlingQuotaExceeded

    def throttle_ms(self) -> int:
        """A request may have waited itself in between, for its topics to be led."""
        return max(0, self._wait_until_ms - self._clock.monotonic_ms())
