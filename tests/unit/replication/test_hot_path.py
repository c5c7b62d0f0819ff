"""The budget of a produce and a fetch, counted in Python calls: a number that no busy machine can blur."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from .broker import Broker, fetch_request, offsets_in, produce_request, records

# What one call costs is about 0.1 us; the budgets are what was measured, and one or two calls to spare.
PRODUCE_CALLS = 30
PRODUCE_CALLS_ABOVE_THE_LOG = 6
FETCH_CALLS = 58


def calls_of(work: Callable[[], Any]) -> tuple[Counter[str], Any]:
    """Python calls by room while `work` runs, and what it returned."""
    found: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            path = Path(frame.f_code.co_filename)
            found[path.parts[path.parts.index("kafka_zk") + 1] if "kafka_zk" in path.parts else "elsewhere"] += 1

    sys.setprofile(count)
    try:
        answer = work()
    finally:
        sys.setprofile(None)
    return found, answer


def test_a_produce_of_one_record_stays_within_its_calls(broker: Broker) -> None:
    broker.lead()
    served = next(api for api in broker.registry if api.name == "Produce")
    for acks in (1, -1):
        for _ in range(3):
            broker.produce(acks=acks)
        ctx = broker.context(served, 9)
        request = produce_request(records(), acks=acks)
        found, response = calls_of(lambda request=request, ctx=ctx: served.handler(request, ctx))
        assert response.responses[0].partition_responses[0].error_code == 0
        assert found["api"] + found["replication"] <= PRODUCE_CALLS_ABOVE_THE_LOG, found
        assert found.total() <= PRODUCE_CALLS, found


def test_the_calls_of_a_produce_do_not_grow_with_its_records(broker: Broker) -> None:
    broker.lead()
    served = next(api for api in broker.registry if api.name == "Produce")
    totals = []
    for count in (1, 200):
        broker.produce(count)
        ctx = broker.context(served, 9)
        request = produce_request(records(count))
        found, _ = calls_of(lambda request=request, ctx=ctx: served.handler(request, ctx))
        totals.append(found["api"] + found["replication"])
    assert totals[0] == totals[1]


def test_a_fetch_of_one_partition_stays_within_its_calls(broker: Broker) -> None:
    broker.lead()
    for _ in range(3):
        broker.produce()
    served = next(api for api in broker.registry if api.name == "Fetch")
    for _ in range(3):
        offsets_in(broker.fetch(1).responses[0].partitions[0])
    ctx = broker.context(served, 12)
    request = fetch_request(1)
    found, response = calls_of(lambda: served.handler(request, ctx))
    assert offsets_in(response.responses[0].partitions[0]) == [1, 2]
    assert found.total() <= FETCH_CALLS, found
