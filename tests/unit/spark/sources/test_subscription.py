"""Which partitions the options assign, subscribe and subscribePattern stand for."""

from __future__ import annotations

import pytest

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.sources.errors import SourceOptionError
from kafka_zk.spark.sources.subscription import Subscription, read_subscription


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"subscribe": "a, b,,a"}, Subscription(topics=("a", "b"))),
        ({"subscribePattern": "fl.*"}, Subscription(pattern="fl.*")),
        (
            {"assign": '{"b":[1],"a":[2,0]}'},
            Subscription(assigned=(TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 1))),
        ),
    ],
)
def test_one_option_says_what_is_read(options: dict[str, str], expected: Subscription) -> None:
    assert read_subscription(options) == expected


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "One of the options subscribe, subscribePattern, assign"),
        ({"subscribe": "a", "assign": '{"a":[0]}'}, "Only one of the options"),
        ({"subscribe": " , "}, "names no topics"),
        ({"subscribePattern": ""}, "is empty"),
        ({"subscribePattern": "("}, "not a valid regular expression"),
        ({"assign": "{}"}, "names no partitions"),
        ({"assign": "a:1"}, "must be JSON"),
        ({"assign": '{"a":1}'}, "must be JSON"),
        ({"assign": '{"a":[-1]}'}, "must be JSON"),
        ({"assign": '{"a":[true]}'}, "must be JSON"),
        ({"assign": "[1]"}, "must be JSON"),
    ],
)
def test_everything_else_is_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(SourceOptionError, match=words):
        read_subscription(options)


def test_a_pattern_matches_whole_names() -> None:
    subscription = Subscription(pattern="a.")
    assert [subscription.matches(topic) for topic in ("ab", "abc", "xab")] == [True, False, False]


def test_of_an_assigned_topic_only_the_named_partitions_are_read() -> None:
    subscription = Subscription(assigned=(TopicPartition("a", 1),))
    assert subscription.matches("a")
    assert subscription.has(TopicPartition("a", 1))
    assert not subscription.has(TopicPartition("a", 0))
