"""What an archive remembers of its topics, and how files are named to Spark."""

from __future__ import annotations

from kafka_zk.spark.jobs.archived_topics import grown
from kafka_zk.spark.jobs.file_store import as_plain_name


def test_a_count_never_goes_down_and_no_topic_is_forgotten():
    assert grown({"a": 4, "b": 1}, {"a": 2, "c": 3}) == {"a": 4, "b": 1, "c": 3}
    assert grown({"a": 4}, {"a": 6}) == {"a": 6}


def test_no_character_of_a_file_name_is_a_pattern():
    assert as_plain_name("/data/plain-1.csv") == "/data/plain-1.csv"
    assert as_plain_name("file:/d/[1] {a,b}*?.csv") == r"file:/d/\[1\] \{a,b\}\*\?.csv"
