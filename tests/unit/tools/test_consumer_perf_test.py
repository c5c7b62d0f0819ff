"""Statistics of kafka-consumer-perf-test.sh."""

from __future__ import annotations

from kafka_zk.tools.common.java_format import DateFormat
from kafka_zk.tools.consumer_perf_test.statistics import Joining, Progress, header, total_text

DATES = DateFormat("'at'")
MIB = 1024 * 1024


def test_the_headers_name_the_columns() -> None:
    rates = (
        "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
        "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
    )
    assert header(is_detailed=False) == f"start.time, end.time, {rates}"
    assert header(is_detailed=True) == f"time, threadId, {rates}"


def test_the_total_tells_joining_from_fetching() -> None:
    progress = Progress(0, records=1000, bytes=4 * MIB)
    text = total_text(progress, start_ms=0, end_ms=2000, joining_ms=1000, dates=DATES)
    assert text == "at, at, 4.0000, 2.0000, 1000, 500.0000, 1000, 1000, 4.0000, 1000.0000"


def test_a_run_without_time_has_no_rates() -> None:
    text = total_text(Progress(0), start_ms=5, end_ms=5, joining_ms=0, dates=DATES)
    assert text == "at, at, 0.0000, NaN, 0, NaN, 0, 0, NaN, NaN"


def test_an_interval_counts_from_the_last_report() -> None:
    progress = Progress(0, records=10, bytes=MIB)
    assert progress.text(1000, 0, DATES) == "at, 0, 1.0000, 1.0000, 10, 10.0000, 0, 1000, 1.0000, 10.0000"
    progress.begin_interval(1000)
    progress.records, progress.bytes = 40, 3 * MIB
    assert progress.text(3000, 1000, DATES) == "at, 0, 3.0000, 1.0000, 40, 15.0000, 1000, 1000, 2.0000, 30.0000"


def test_an_interval_of_nothing_but_joining_has_no_fetch_rates() -> None:
    assert Progress(0, records=1).text(100, 100, DATES).endswith(", 100, 0, 0.0000, 0.0000")


def test_joining_lasts_from_the_loss_of_partitions_to_new_ones() -> None:
    joining = Joining(began_ms=100)
    joining.got_partitions(150)
    joining.lost_partitions(1000)
    joining.got_partitions(1030)
    assert (joining.total_ms, joining.interval_ms) == (80, 80)
