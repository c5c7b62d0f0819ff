"""A throttle holds the mean rate."""

from __future__ import annotations

import threading

from kafka_zk.tools.common.throughput import Throttle


def test_records_are_too_many_when_their_mean_rate_is_above_the_wanted_one() -> None:
    throttle = Throttle(100, start_ms=1000)
    assert not throttle.is_due(1_000_000, now_ms=1000)
    assert not throttle.is_due(50, now_ms=1500)
    assert throttle.is_due(51, now_ms=1500)


def test_a_negative_rate_is_none() -> None:
    assert not Throttle(-1, start_ms=0).is_due(10**9, now_ms=1)


def test_a_rate_of_zero_waits_until_somebody_stops_it() -> None:
    throttle = Throttle(0, start_ms=0)
    assert throttle.is_due(1, now_ms=1)
    waiting = threading.Thread(target=throttle.wait)
    waiting.start()
    throttle.stop()
    waiting.join(30)
    assert not waiting.is_alive()


def test_a_stopped_throttle_waits_no_more() -> None:
    throttle = Throttle(0.001, start_ms=0)
    throttle.stop()
    throttle.wait()
