"""Averages, extremes and rates over two windows."""

from __future__ import annotations

import math

from kafka_zk.client.consumer.sensors import WINDOW_MS, MetricName, Sensor
from kafka_zk.clock import SimClock


def test_values_count_for_two_windows_and_totals_for_ever() -> None:
    clock = SimClock()
    sensor = Sensor(clock)
    assert math.isnan(sensor.average)
    sensor.record(10)
    sensor.record(20)
    assert (sensor.average, sensor.minimum, sensor.maximum) == (15, 10, 20)
    clock.advance(WINDOW_MS)
    sensor.record(60)
    assert (sensor.average, sensor.maximum, sensor.last) == (30, 60, 60)
    clock.advance(2 * WINDOW_MS)
    assert math.isnan(sensor.maximum)
    assert (sensor.count, sensor.total) == (3, 90)


def test_the_first_window_counts_as_a_whole_one() -> None:
    clock = SimClock()
    sensor = Sensor(clock)
    sensor.record(600)
    clock.advance(10)
    assert sensor.per_second(events=True) == 1 / 30
    assert sensor.per_second(events=False) == 20


def test_names_are_javas() -> None:
    sensor = Sensor(SimClock())
    sensor.record(3)
    found = MetricName("g", {"client-id": "c"}).totals("records-consumed", sensor)
    assert {key.name for key in found} == {"records-consumed-rate", "records-consumed-total"}
