import random
import statistics

import pytest

from kafka_zk.clock import SimClock
from kafka_zk.metrics.histogram import QUANTILES, Histogram, Timer, bucket_of
from kafka_zk.metrics.windows import SampledStat


def test_quantiles_of_small_whole_numbers_are_exact():
    histogram = Histogram(0)
    for value in range(1, 1001):
        histogram.update(value)
    histogram.fold(0)
    assert histogram.quantiles() == [500.0, 750.0, 950.0, 980.0, 990.0, 999.0]


def test_quantiles_of_any_values_are_within_a_five_hundredth(chance: random.Random):
    values = sorted(chance.lognormvariate(3, 2) for _ in range(5000))
    histogram = Histogram(0)
    for value in values:
        histogram.update(value)
    histogram.fold(0)
    for (_, quantile), found in zip(QUANTILES, histogram.quantiles(), strict=True):
        assert found == pytest.approx(values[int(quantile * len(values)) - 1], rel=0.02)


def test_moments_cover_every_value():
    values = [3, 1, 4, 1, 5, 9, 2, 6]
    histogram = Histogram(0)
    for value in values:
        histogram.update(value)
    histogram.fold(0)
    shown = histogram.attributes()
    assert (shown["Count"], shown["Min"], shown["Max"]) == (8, 1.0, 9.0)
    assert shown["Mean"] == pytest.approx(statistics.mean(values))
    assert shown["StdDev"] == pytest.approx(statistics.stdev(values))


def test_old_values_fade_behind_new_ones():
    histogram = Histogram(0)
    for _ in range(1000):
        histogram.update(100)
    histogram.fold(0)
    for _ in range(100):
        histogram.update(1)
    histogram.fold(600_000)
    assert histogram.quantiles()[0] == 1.0


def test_a_day_of_decay_neither_overflows_nor_loses_the_newest():
    histogram = Histogram(0)
    for hour in range(48):
        histogram.update(hour)
        histogram.fold(hour * 1_800_000)
    assert histogram.quantiles()[-1] == 47.0
    assert histogram.count == 48


def test_a_histogram_without_values_shows_zeros():
    assert set(Histogram(0).attributes().values()) == {0}


@pytest.mark.parametrize("value", [0, 1, 1023, 1024.5, 12_345_678, 0.001, 7.25])
def test_a_bucket_lies_close_to_its_values(value: float):
    assert bucket_of(value) == pytest.approx(value, rel=0.002)


def test_a_timer_has_the_attributes_of_a_meter_and_of_a_histogram():
    timer = Timer(0)
    timer.update(2.5)
    timer.fold(5_000)
    shown = timer.attributes()
    assert len(shown) == 18
    assert (shown["Count"], shown["LatencyUnit"], shown["OneMinuteRate"], shown["Max"]) == (1, "MILLISECONDS", 0.2, 2.5)


def test_a_sampled_rate_counts_the_last_windows_only():
    clock = SimClock()
    stat = SampledStat(num_samples=2, window_ms=30_000)
    stat.record(300, clock.monotonic_ms())
    clock.advance(30_000)
    assert stat.rate(clock.monotonic_ms()) == pytest.approx(10.0)
    clock.advance(30_000)
    assert stat.rate(clock.monotonic_ms()) == 0.0


def test_a_sampled_rate_of_a_young_stat_is_spread_over_a_full_window():
    stat = SampledStat(num_samples=2, window_ms=30_000)
    stat.record(300, 1_000)
    assert stat.rate(1_000) == pytest.approx(10.0)


def test_average_and_maximum_are_not_a_number_without_a_sample():
    stat = SampledStat(num_samples=2, window_ms=30_000)
    assert str(stat.average(0)) == "nan"
    assert str(stat.maximum(0)) == "nan"
    stat.record(3, 0)
    stat.record(5, 1)
    assert (stat.average(1), stat.maximum(1)) == (4.0, 5.0)
