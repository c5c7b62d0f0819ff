"""Which topics an application of Kafka Streams made for itself, and what a plan for its input says."""

from __future__ import annotations

import pytest

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.streams_application_reset.options import (
    is_inferred_internal_topic,
    matches_internal_topic_format,
    parsed,
)
from kafka_zk.tools.streams_application_reset.seeking import plan_from


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("app-store-changelog", True),
        ("app-store-repartition", True),
        ("app-x-subscription-registration-topic", True),
        ("app-x-subscription-response-topic", True),
        ("app-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000004-topic", True),
        ("app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-1-topic", True),
        ("-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-1-topic", False),
        ("app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE--topic", False),
        ("app-store-changelog-2", False),
        ("app-output", False),
    ],
)
def test_internal_topics_are_known_by_their_names(topic: str, expected: bool) -> None:
    assert matches_internal_topic_format(topic) is expected


def test_topics_of_others_and_topics_that_were_named_stay() -> None:
    options = parsed(["--application-id", "app", "--input-topics", "app-a-changelog,,app-b-changelog"], "")
    topics = ("app-a-changelog", "app-b-changelog", "app-c-changelog", "other-c-changelog")
    assert [topic for topic in topics if is_inferred_internal_topic(options, topic)] == ["app-c-changelog"]


def test_a_plan_is_a_topic_a_partition_and_an_offset_a_line() -> None:
    assert plan_from("a,1,7\nb,0,2\n\n") == {TopicPartition("a", 1): 7, TopicPartition("b", 0): 2}


@pytest.mark.parametrize("text", ["", "a,1\n", "a,1,2,3", "a,1,2\n\nb,1,2"])
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(JavaError) as raised:
        plan_from(text)
    assert raised.value.java_class == "java.text.ParseException"


def test_a_partition_that_is_no_number_is_an_illegal_argument() -> None:
    with pytest.raises(JavaError, match=r'^For input string: "x"$'):
        plan_from("a,x,2")
