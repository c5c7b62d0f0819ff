"""What became of the logins at one listener: plain totals, from which metrics are made.

Source      Selector.SelectorMetrics, Processor.expiredConnectionsKilledCount in Kafka 3.9; KIP-368.
"""

from __future__ import annotations


class LoginCounts:
    """Counted by authentication and by connections; `on_latency` gets the milliseconds of each re-authentication."""

    __slots__ = (
        "authenticated",
        "expired",
        "failed",
        "failed_again",
        "latencies_ms",
        "reauthenticated",
        "without_reauthentication",
    )

    def __init__(self) -> None:
        self.authenticated = 0
        self.without_reauthentication = 0
        """Of those authenticated: clients that cannot do it again on the same connection."""
        self.failed = 0
        self.reauthenticated = 0
        self.failed_again = 0
        """Failed re-authentications."""
        self.expired = 0
        """Connections closed because their client went on after its session had ended."""
        self.latencies_ms: list[int] = []
        """How long re-authentications took, since somebody last looked."""

    def __repr__(self) -> str:
        return f"logins={self.authenticated}+{self.reauthenticated} failed={self.failed}+{self.failed_again}"
