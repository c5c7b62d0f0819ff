"""CleanerStats: statistics of one cleaning, for its log lines and metrics.

Role        Pure.
Source      Kafka 3.9 CleanerStats, LogCleaner.recordStats.
"""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(slots=True)
class CleanerStats:
    """`mapped`: of the pass that fills the key table; `read` and `written`: of the pass that rewrites."""

    mapped_bytes: int = 0
    mapped_count: int = 0
    read_bytes: int = 0
    read_count: int = 0
    written_bytes: int = 0
    written_count: int = 0
    keyless_count: int = 0
    buffer_utilization: float = 0.0
    map_ms: int = 0
    elapsed_ms: int = 0

    def describe(self, cleaner_id: int, log_name: str, start_offset: int, end_offset: int) -> str:
        """Kafka's lines about a cleaning."""
        elapsed = self.elapsed_ms / 1000
        mapping = self.map_ms / 1000
        cleaning = elapsed - mapping
        read, written = self.read_bytes / _MIB, self.written_bytes / _MIB
        mapped = self.mapped_bytes / _MIB
        return "\n".join(
            (
                "",
                (
                    f"\tLog cleaner thread {cleaner_id} cleaned log {log_name} "
                    f"(dirty section = [{start_offset}, {end_offset}])"
                ),
                f"\t{read:,.1f} MB of log processed in {elapsed:,.1f} seconds ({_rate(read, elapsed):,.1f} MB/sec).",
                (
                    f"\tIndexed {mapped:,.1f} MB in {mapping:,.1f} seconds ({_rate(mapped, mapping):,.1f} Mb/sec, "
                    f"{100 * _rate(mapping, elapsed):.1f}% of total time)"
                ),
                f"\tBuffer utilization: {100 * self.buffer_utilization:.1f}%",
                (
                    f"\tCleaned {read:,.1f} MB in {cleaning:.1f} seconds ({_rate(read, cleaning):,.1f} Mb/sec, "
                    f"{100 * _rate(cleaning, elapsed):.1f}% of total time)"
                ),
                f"\tStart size: {read:,.1f} MB ({self.read_count:,d} messages)",
                f"\tEnd size: {written:,.1f} MB ({self.written_count:,d} messages)",
                (
                    f"\t{100 * (1 - _rate(self.written_bytes, self.read_bytes)):.1f}% size reduction "
                    f"({100 * (1 - _rate(self.written_count, self.read_count)):.1f}% fewer messages)"
                ),
                "",
            )
        )


def _rate(amount: float, of: float) -> float:
    return amount / of if of else 0.0
