"""How long to wait before the next attempt.

Role        Pure but for its default of `chance`, a parameter.
Source      org.apache.kafka.common.utils.ExponentialBackoff; KIP-580.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from kafka_zk.client.config import ClientConfig


@dataclass(frozen=True, slots=True)
class ExponentialBackoff:
    """`first_ms`, doubled at each attempt up to `longest_ms`, with 20 % jitter.

    `chance` is random.random or similar: many clients must not retry at the same time. A `first_ms` above
    `longest_ms` is used as it is.
    """

    first_ms: int
    longest_ms: int
    chance: Callable[[], float]

    def wait_ms(self, failure_count: int) -> int:
        """The wait after `failure_count` failures in a row, which is 1 after the first."""
        doubled = self.first_ms * 2 ** min(max(failure_count - 1, 0), 30)
        plain = min(doubled, max(self.longest_ms, self.first_ms))
        return int(plain * (0.8 + 0.4 * self.chance()))


def backoff_of(config: ClientConfig, name: str) -> ExponentialBackoff:
    """From the keys `name`.ms and `name`.max.ms."""
    return ExponentialBackoff(config.integer(f"{name}.ms"), config.integer(f"{name}.max.ms"), random.random)
