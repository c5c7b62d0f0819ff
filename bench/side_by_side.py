"""The measurements themselves: the same loads on two brokers, one after the other, the broker's CPU read around each.

A load is warmed first: the JVM compiles, both touch their memory for the first time. Produce loads are verified:
the log end offsets must have moved by exactly the records acknowledged.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal, TypeVar

from bench import frames
from bench.brokers import Broker
from bench.load import Exchange, Outcome, ask, run
from bench.process import cpu_seconds, resident_mb

T = TypeVar("T")

PARTITION_COUNT = 12
IDLE_CONNECTION_COUNT = 1000
# A run must not fill somebody's disk: the large batches end after this much.
MAX_LOAD_BYTES = 1 << 30


@dataclass(frozen=True)
class ProduceLoad:
    """`record_count` records of `value_bytes` in each request."""

    name: str
    record_count: int
    value_bytes: int = 100
    connection_count: int = 8
    in_flight: int = 5


@dataclass(frozen=True)
class FetchLoad:
    """`size_bytes` a request, from batches of 100 records. `history`: from closed segments, that are in memory, or of
    which nothing is ("disk")."""

    name: str
    size_bytes: int
    history: Literal["", "memory", "disk"] = ""
    connection_count: int = 8
    in_flight: int = 1


Load = ProduceLoad | FetchLoad

LOADS: tuple[Load, ...] = (
    ProduceLoad("produce 1 x 100 B", 1),
    ProduceLoad("produce 1 x 100 B, 1 connection, 1 in flight", 1, connection_count=1, in_flight=1),
    ProduceLoad("produce 100 x 100 B", 100),
    ProduceLoad("produce 640 x 100 B", 640),
    ProduceLoad("produce 1000 x 1000 B", 1000, 1000),
    FetchLoad("fetch 64 KiB", 64 << 10),
    FetchLoad("fetch 1 MiB", 1 << 20),
    FetchLoad("fetch 64 KiB of history in memory", 64 << 10, "memory"),
    FetchLoad("fetch 1 MiB of history in memory", 1 << 20, "memory"),
    FetchLoad("fetch 64 KiB of history on disk", 64 << 10, "disk"),
)


@dataclass(frozen=True)
class Result:
    """One load on one broker. `payload_mb` is what the batches weigh, in 10^6 bytes."""

    requests_a_second: float
    cpu_us_a_request: float
    megabytes_a_second: float
    cpu_s_a_gigabyte: float
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True)
class Entrance:
    """Where a load enters a broker: a port of a listener, and how to speak TLS there."""

    port: int
    tls: ssl.SSLContext | None = None


def measure(broker: Broker, load: Load, *, seconds: float, warm_s: float, entrance: Entrance | None = None) -> Result:
    """Blocks for about `seconds` and `warm_s`. Raises AssertionError when the broker lost or refused something."""
    if entrance is None:
        entrance = Entrance(broker.port)
    if isinstance(load, ProduceLoad):
        return _produce(broker, load, seconds, warm_s, entrance)
    return _fetch(broker, load, seconds, warm_s, entrance)


def _produce(broker: Broker, load: ProduceLoad, seconds: float, warm_s: float, entrance: Entrance) -> Result:
    topic = _topic_name(load)
    broker.create_topic(topic, PARTITION_COUNT)
    batch = frames.batch_of(load.record_count, load.value_bytes)
    requests = [frames.produce(topic, partition, batch) for partition in range(PARTITION_COUNT)]
    # The sizes of answers differ by no byte: one topic, one partition, numbers of fixed width.
    answer_bytes = len(ask(broker.port, requests[0])) + 4
    exchanges = [
        [Exchange(frame, answer_bytes) for frame in _rotated(requests, connection)]
        for connection in range(load.connection_count)
    ]
    max_count = MAX_LOAD_BYTES // len(batch)
    acknowledged = 1
    if warm_s:
        acknowledged += _run(entrance, exchanges, load, warm_s, max_count).answered_count
    outcome, cpu_s = _with_cpu(broker, lambda: _run(entrance, exchanges, load, seconds, max_count))
    acknowledged += outcome.answered_count
    stored = broker.record_count(topic, PARTITION_COUNT)
    assert stored == acknowledged * load.record_count, (broker.name, load, stored, acknowledged)
    return _result(outcome, cpu_s, len(batch))


def _fetch(broker: Broker, load: FetchLoad, seconds: float, warm_s: float, entrance: Entrance) -> Result:
    topic = _topic_name(load)
    segment_bytes = 2 * load.size_bytes
    broker.create_topic(topic, PARTITION_COUNT, {"segment.bytes": str(segment_bytes)} if load.history else {})
    batch = frames.batch_of(100, 100)
    # Enough for the fetch to be full from the first and from the second batch; of history, for another segment.
    for _ in range((segment_bytes if load.history else load.size_bytes) // len(batch) + 3):
        for partition in range(PARTITION_COUNT):
            ask(broker.port, frames.produce(topic, partition, batch))
    requests = [frames.fetch(topic, partition, 100, load.size_bytes) for partition in range(PARTITION_COUNT)]
    answers = [len(ask(broker.port, frame)) + 4 for frame in requests]
    assert min(answers) >= load.size_bytes, (broker.name, load, answers)
    pairs = [Exchange(frame, answer_bytes) for frame, answer_bytes in zip(requests, answers, strict=True)]
    exchanges = [_rotated(pairs, connection) for connection in range(load.connection_count)]
    if warm_s:
        _run(entrance, exchanges, load, warm_s)
    with broker.log_evicted() if load.history == "disk" else nullcontext():
        outcome, cpu_s = _with_cpu(broker, lambda: _run(entrance, exchanges, load, seconds))
    return _result(outcome, cpu_s, load.size_bytes)


def _run(
    entrance: Entrance,
    exchanges: Sequence[Sequence[Exchange]],
    load: Load,
    seconds: float,
    max_count: int = 1 << 62,
) -> Outcome:
    return run(
        entrance.port,
        exchanges,
        in_flight=load.in_flight,
        seconds=seconds,
        max_count=max_count,
        tls=entrance.tls,
    )


def _rotated(items: Sequence[T], start: int) -> list[T]:
    start %= len(items)
    return [*items[start:], *items[:start]]


def _with_cpu(broker: Broker, work: Callable[[], Outcome]) -> tuple[Outcome, float]:
    before = cpu_seconds(broker.pid)
    outcome = work()
    return outcome, cpu_seconds(broker.pid) - before


def _result(outcome: Outcome, cpu_s: float, payload_bytes: int) -> Result:
    gigabytes = outcome.answered_count * payload_bytes / 1e9
    return Result(
        requests_a_second=outcome.per_second,
        cpu_us_a_request=cpu_s / outcome.answered_count * 1e6,
        megabytes_a_second=gigabytes * 1000 / outcome.seconds,
        cpu_s_a_gigabyte=cpu_s / gigabytes,
        p50_ms=outcome.latency_ms(0.5),
        p99_ms=outcome.latency_ms(0.99),
    )


def idle_connection_kb(broker: Broker) -> float:
    """Resident memory of the broker for each of 1,000 open connections that say nothing."""
    before = resident_mb(broker.pid)
    clients = broker.open_connections(IDLE_CONNECTION_COUNT)
    try:
        return max(0.0, resident_mb(broker.pid) - before) * 1024 / IDLE_CONNECTION_COUNT
    finally:
        for client in clients:
            client.close()


def _topic_name(load: Load) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in load.name) + f"-{time.monotonic_ns()}"


def results(
    brokers: Sequence[Broker], loads: Sequence[Load], *, seconds: float, warm_s: float
) -> Iterator[tuple[Load, list[Result]]]:
    """Each load on each broker in turn, so that a noisy minute on the machine hits both."""
    for load in loads:
        yield load, [measure(broker, load, seconds=seconds, warm_s=warm_s) for broker in brokers]
