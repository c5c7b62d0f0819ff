"""What a consumer measures: recent values, and totals for ever."""

from __future__ import annotations

import math

from kafka_zk.client.consumer.sensors import WINDOW_MS, MetricNames, Sensor
from kafka_zk.clock import SimClock


def test_values_count_for_two_windows_and_totals_for_ever() -> None:
    clock = SimClock()
    sensor = Sensor(clock)
    assert math.isnan(sensor.average)
    assert math.isnan(sensor.minimum)
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
    sensor = Sensor(SimClock())
    sensor.record(600)
    assert (sensor.events_a_second, sensor.values_a_second) == (1 / 30, 20)


def test_names_are_javas() -> None:
    sensor = Sensor(SimClock())
    sensor.record(3)
    found = MetricNames("g", {"client-id": "c"}).totals("records-consumed", sensor)
    assert {key.name for key in found} == {"records-consumed-rate", "records-consumed-total"}
