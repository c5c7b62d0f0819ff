"""Consumer throughput, as lines of comma separated values.

Role        Pure: times are given, all in ms.
Invariants  The time that joining the group took is reported separately, and subtracted in the fetch columns.
Source      ConsumerPerformance: printHeader, printConsumerProgress, ConsumerPerfRebListener.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_zk.tools.common.java_format import DateFormat, fixed, ratio

MIB = 1024 * 1024
_RATES = "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec"
_TIMES = "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"


def header(*, is_detailed: bool) -> str:
    return f"{'time, threadId' if is_detailed else 'start.time, end.time'}, {_RATES}, {_TIMES}"


@dataclass(slots=True)
class Joining:
    """How long this member has been joining its group: in all, and since the last report."""

    began_ms: int
    total_ms: int = 0
    interval_ms: int = 0

    def lost_partitions(self, now_ms: int) -> None:
        self.began_ms = now_ms

    def got_partitions(self, now_ms: int) -> None:
        self.total_ms += now_ms - self.began_ms
        self.interval_ms += now_ms - self.began_ms


@dataclass(slots=True)
class Progress:
    """Records and bytes since the start, and as they were at the last report."""

    reported_ms: int
    records: int = 0
    bytes: int = 0
    reported_records: int = 0
    reported_bytes: int = 0

    def begin_interval(self, now_ms: int) -> None:
        self.reported_ms, self.reported_records, self.reported_bytes = now_ms, self.records, self.bytes

    def text(self, now_ms: int, joining_ms: int, dates: DateFormat) -> str:
        """The line of an interval that ends now."""
        elapsed_ms = now_ms - self.reported_ms
        fetching_ms = elapsed_ms - joining_ms
        mib = (self.bytes - self.reported_bytes) / MIB
        records = self.records - self.reported_records
        parts = (
            dates.text(now_ms),
            "0",
            fixed(self.bytes / MIB, 4),
            fixed(ratio(1000.0 * mib, elapsed_ms), 4),
            str(self.records),
            fixed(ratio(records, elapsed_ms) * 1000.0, 4),
            str(joining_ms),
            str(fetching_ms),
            fixed(0.0 if fetching_ms <= 0 else 1000.0 * mib / fetching_ms, 4),
            fixed(0.0 if fetching_ms <= 0 else 1000.0 * records / fetching_ms, 4),
        )
        return ", ".join(parts)


def total_text(progress: Progress, *, start_ms: int, end_ms: int, joining_ms: int, dates: DateFormat) -> str:
    """The line of the whole run."""
    elapsed_s = (end_ms - start_ms) / 1000
    fetching_ms = end_ms - start_ms - joining_ms
    mib = progress.bytes / MIB
    parts = (
        dates.text(start_ms),
        dates.text(end_ms),
        fixed(mib, 4),
        fixed(ratio(mib, elapsed_s), 4),
        str(progress.records),
        fixed(ratio(progress.records, elapsed_s), 4),
        str(joining_ms),
        str(fetching_ms),
        fixed(ratio(mib, fetching_ms / 1000), 4),
        fixed(ratio(progress.records, fetching_ms / 1000), 4),
    )
    return ", ".join(parts)
