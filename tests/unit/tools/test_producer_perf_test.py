"""Statistics and payloads of kafka-producer-perf-test.sh."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.producer_perf_test.options import PARSER, producer_properties
from kafka_zk.tools.producer_perf_test.payloads import monotonic, of_file, random_letters
from kafka_zk.tools.producer_perf_test.statistics import Statistics, percentiles


def given_statistics(count: int, reported: list[str] | None = None) -> Statistics:
    return Statistics(count, interval_ms=5000, now_ms=1000, report=(reported if reported is not None else []).append)


def test_the_total_names_rates_and_percentiles() -> None:
    statistics = given_statistics(4)
    for latency_ms in (40, 10, 30, 20):
        statistics.record(latency_ms, 1024 * 1024, now_ms=2000)
    assert statistics.total_text(3000) == (
        "4 records sent, 2.000000 records/sec (2.00 MB/sec), 25.00 ms avg latency, 40.00 ms max latency, "
        "30 ms 50th, 40 ms 95th, 40 ms 99th, 40 ms 99.9th."
    )


def test_a_run_in_which_nothing_arrived_says_so() -> None:
    assert given_statistics(4).total_text(3000) == (
        "0 records sent, 0.000000 records/sec (0.00 MB/sec), NaN ms avg latency, 0.00 ms max latency, "
        "0 ms 50th, 0 ms 95th, 0 ms 99th, 0 ms 99.9th."
    )


def test_a_window_is_told_when_it_is_over_and_the_next_begins_empty() -> None:
    reported: list[str] = []
    statistics = given_statistics(9, reported)
    for now_ms, latency_ms in ((2000, 5), (5999, 1), (6000, 3), (11000, 2)):
        statistics.record(latency_ms, 100, now_ms)
    assert reported == [
        "3 records sent, 0.6 records/sec (0.00 MB/sec), 3.0 ms avg latency, 5.0 ms max latency.",
        "1 records sent, 0.2 records/sec (0.00 MB/sec), 2.0 ms avg latency, 2.0 ms max latency.",
    ]


def test_of_many_records_every_so_many_are_kept() -> None:
    statistics = given_statistics(2_000_000)
    for number in range(12):
        statistics.record(number, 1, now_ms=1001)
    # 0, 4 and 8: the median of these.
    assert " 4 ms 50th, 8 ms 95th" in statistics.total_text(2000)


def test_no_records_at_all_cannot_be_divided_by() -> None:
    with pytest.raises(JavaError, match=r"^/ by zero$"):
        given_statistics(0)


def test_percentiles_of_nothing_are_nothing() -> None:
    assert percentiles([], (0.5, 0.99)) == [0, 0]


def test_letters_have_the_wanted_size_and_differ() -> None:
    payload = random_letters(100)
    values = {payload(number) for number in range(50)}
    assert len(values) > 40
    assert all(len(value) == 100 and value.isalpha() and value.isupper() for value in values)
    assert random_letters(0)(0) == b""
    with pytest.raises(JavaError, match=r"^-1$"):
        random_letters(-1)


def test_numbers_count_up() -> None:
    assert [monotonic()(number) for number in (0, 7)] == [b"0", b"7"]


def test_a_file_is_cut_at_the_delimiter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "payloads"
    file.write_text("a;b\n;;")
    payload = of_file(str(file), ";")
    assert {payload(number) for number in range(100)} == {b"a", b"b\n"}
    assert capsys.readouterr().out == f"Reading payloads from: {file}\nNumber of messages read: 2\n"


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name in ("empty", "none"):
        with pytest.raises(JavaError, match=r"^File does not exist or empty file provided\.$"):
            of_file(str(tmp_path / name), "\n")


def test_a_folder_in_the_place_of_the_file_is_told_as_in_java(tmp_path: Path) -> None:
    with pytest.raises(JavaError, match=r"^Is a directory$") as raised:
        of_file(str(tmp_path), "\n")
    assert raised.value.java_class == "java.io.IOException"


def test_the_command_line_counts_before_the_file() -> None:
    needed = ("--topic=t", "--num-records=1", "--throughput=1", "--record-size=1")
    words = (*needed, "--producer-props", "acks=1", "linger.ms=5")
    values = PARSER.parse(words)
    assert producer_properties(values, {"acks": "all", "client.id": "mine"}) == {
        "acks": "1",
        "linger.ms": "5",
        "client.id": "mine",
    }
    assert producer_properties(values, {})["client.id"] == "perf-producer-client"
    with_transactions = PARSER.parse([*words, "--transaction-duration-ms", "5", "--transactional-id", "x"])
    assert producer_properties(with_transactions, {})["transactional.id"] == "x"
