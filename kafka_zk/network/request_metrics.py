"""Request metrics per API: counts, sizes, and the time spent in each phase.

Role        The hot path appends one tuple per request to a list; `fold` does the arithmetic twenty times a second:
            the rows of a whole second would outgrow the CPU cache.
Row         (api_version, size_bytes, received_ns, started_ns, handled_ns, completed_ns, throttle_ms, stamp), all times
            monotonic. `stamp` is shared by answers sent together: [sending started, sent], zeros until then.
Invariants  Queue + local + remote + response queue + send time is the total time. A request without an answer counts
            as sent once its connection has flushed or ended.
Source      RequestChannel.Request.updateRequestMetrics, RequestMetrics in Kafka 3.9.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from operator import itemgetter
from typing import Final

from kafka_zk.metrics import MetricsRegistry
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.errors import ErrorCode

_TYPE = "kafka.network:type=RequestMetrics,name="

ROWS_PER_FOLD = 1000
"""About a millisecond of folding, which may delay a request."""

Row = tuple[int, int, int, int, int, int, int, list[int]]

_KNOWN_CODES = frozenset(int(code) for code in ErrorCode)
VARIANTS = ("FetchConsumer", "FetchFollower", "AddPartitionsToTxnVerification")
"""Extra names under which some requests are counted besides their API."""

HALF_MS_NS: Final = 500_000

_PARTS: Final = (
    "RequestQueueTimeMs",
    "LocalTimeMs",
    "RemoteTimeMs",
    "ResponseQueueTimeMs",
    "ResponseSendTimeMs",
    "TotalTimeMs",
)
"""In the order in which a request goes through them, and the whole."""

_version = itemgetter(0)
_size = itemgetter(1)
_throttle = itemgetter(6)


class ApiTimes:
    """The metrics of one request name. The hot path appends to `rows` and adds to `error_counts`."""

    __slots__ = ("_backlog", "_histograms", "_metrics", "error_counts", "name", "rows")

    def __init__(self, name: str, metrics: MetricsRegistry) -> None:
        self.name = name
        self.rows: list[Row] = []
        self._backlog: list[Row] = []
        self.error_counts: defaultdict[int, int] = defaultdict(int)
        self._metrics = metrics
        self._histograms = {
            kind: metrics.histogram(f"{_TYPE}{kind}", request=name)
            for kind in (*_PARTS, "ThrottleTimeMs", "RequestBytes")
        }

    def fold(self, now_ms: int) -> bool:
        """Process some of the answered requests; returns whether more are left."""
        if self.error_counts:
            self._fold_errors()
        if not self._backlog:
            self._backlog, self.rows = self.rows, []
        if self._backlog:
            some = self._backlog[-ROWS_PER_FOLD:]
            del self._backlog[-ROWS_PER_FOLD:]
            self.rows += [row for row in some if not row[7][1]]
            self._fold_rows([row for row in some if row[7][1]], now_ms)
        return bool(self._backlog)

    def _fold_rows(self, sent: list[Row], now_ms: int) -> None:
        for version, count in Counter(map(_version, sent)).items():
            self._metrics.meter(f"{_TYPE}RequestsPerSec", request=self.name, version=version).mark(count)
        self._add("ThrottleTimeMs", Counter(map(_throttle, sent)), now_ms)
        self._add("RequestBytes", Counter(map(_size, sent)), now_ms)
        # All parts of less than half a millisecond round to nothing; most requests end here.
        slow = [row for row in sent if row[7][1] - row[2] >= HALF_MS_NS]
        for kind, tally in zip(_PARTS, _parts_of(slow, len(sent) - len(slow)), strict=True):
            self._add(kind, tally, now_ms)

    def _add(self, kind: str, tally: dict[int, int], now_ms: int) -> None:
        self._histograms[kind].add(tally.items(), now_ms)

    def _fold_errors(self) -> None:
        counts = dict(self.error_counts)
        self.error_counts.clear()
        for code, count in counts.items():
            error = ErrorCode(code).name if code in _KNOWN_CODES else ErrorCode.UNKNOWN_SERVER_ERROR.name
            self._metrics.meter(f"{_TYPE}ErrorsPerSec", request=self.name, error=error).mark(count)


class RequestMetrics:
    """All request names of a broker; their histograms exist from the start, as in Kafka."""

    def __init__(self, metrics: MetricsRegistry) -> None:
        self._metrics = metrics
        self._times: dict[str, ApiTimes] = {}
        for name in (*(api.name for api in API_TABLE.values()), *VARIANTS):
            self.of(name)
        metrics.on_gather(self.fold)

    def of(self, name: str) -> ApiTimes:
        """The metrics of a request name, the same object each time."""
        times = self._times.get(name)
        if times is None:
            times = self._times[name] = ApiTimes(name, self._metrics)
        return times

    def fold(self, now_ms: int) -> bool:
        """Takes a few ms; returns whether to call again soon."""
        return any(times.fold(now_ms) for times in self._times.values())


def _parts_of(slow: list[Row], quick_count: int) -> list[dict[int, int]]:
    """How many requests took how many ms, for each of _PARTS."""
    tallies: list[dict[int, int]] = [{0: quick_count} if quick_count else {} for _ in _PARTS]
    queue, local, remote, response_queue, sending, total = tallies
    for _, _, received_ns, started_ns, handled_ns, completed_ns, _, stamp in slow:
        send_ns, sent_ns = stamp
        _count(queue, started_ns - received_ns)
        _count(local, handled_ns - started_ns)
        _count(remote, completed_ns - handled_ns)
        _count(response_queue, send_ns - completed_ns)
        _count(sending, sent_ns - send_ns)
        _count(total, sent_ns - received_ns)
    return tallies


def _count(tally: dict[int, int], duration_ns: int) -> None:
    """Rounded as Kafka does; an answer that waited behind another may seem sent before it was complete."""
    ms = (duration_ns + HALF_MS_NS) // 1_000_000 if duration_ns > 0 else 0
    tally[ms] = tally.get(ms, 0) + 1
