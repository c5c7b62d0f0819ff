"""kafka-topics.sh: values of its options."""

from __future__ import annotations

import pytest

from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.common.options import Options, UsageError
from kafka_zk.tools.topics.options import (
    OPTIONS,
    ZOOKEEPER_OPTIONS,
    check_for_bootstrap_server,
    check_for_zookeeper,
    configs,
    names_matching,
    replica_assignment,
)

TOPICS = ["__consumer_offsets", "a", "a.b", "ab", "b"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        (None, TOPICS),
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        (" a , b ", ["a", "b"]),
        ("\"a'", ["a"]),
        ("a.*", ["a", "a.b", "ab"]),
        ("a\\.b", ["a.b"]),
        ("\\Qa.b\\E", ["a.b"]),
        ("(?<first>a)b", ["ab"]),
        ("", []),
    ],
)
def test_a_topic_is_a_pattern_for_whole_names(pattern: str | None, names: list[str]) -> None:
    assert names_matching(TOPICS, pattern, exclude_internal=False) == names


def test_internal_topics_can_be_left_out() -> None:
    assert names_matching(TOPICS, None, exclude_internal=True) == TOPICS[1:]


def test_a_broken_pattern_is_refused() -> None:
    with pytest.raises(JavaError, match=r"^\[ is an invalid regex\.$"):
        names_matching(TOPICS, "[", exclude_internal=False)


def test_replicas_are_listed_partition_by_partition() -> None:
    assert replica_assignment(Options(OPTIONS, ["--replica-assignment", "1:2, 2:3 ,"])) == {0: [1, 2], 1: [2, 3]}
    assert replica_assignment(Options(OPTIONS, [])) == {}


def test_the_later_value_of_a_config_counts() -> None:
    assert configs(Options(OPTIONS, ["--config", "a=1", "--config", "a = 2"])) == {"a": "2"}


@pytest.mark.parametrize("text", ["a", "a=", "a=b=c", ""])
def test_a_config_is_a_key_and_a_value(text: str) -> None:
    with pytest.raises(JavaError, match=r"^requirement failed: Invalid topic config"):
        configs(Options(OPTIONS, ["--config", text, "--config", "b=c"]))


def test_with_zookeeper_a_new_topic_needs_its_counts() -> None:
    with pytest.raises(UsageError, match="partitions"):
        check_for_zookeeper(Options(ZOOKEEPER_OPTIONS, ["--zookeeper", "z", "--create", "--topic", "t"]))
    check_for_bootstrap_server(Options(OPTIONS, ["--bootstrap-server", "b", "--create", "--topic", "t"]))
