"""Very many failures of one request take little room: equal answers are one object, and only the first say why."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_zk.api.all import load
from kafka_zk.api.error_form import Form, error_response
from kafka_zk.api.group.join_group import MAX_PROTOCOLS, join_group
from kafka_zk.api.walk import IN_WORDS, per_distinct, per_item
from kafka_zk.protocol.errors import BrokerError, InvalidRequest
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.consumer_group_describe import (
    CONSUMER_GROUP_DESCRIBE_REQUEST,
    CONSUMER_GROUP_DESCRIBE_RESPONSE,
    ConsumerGroupDescribeRequest,
)
from kafka_zk.protocol.messages.describe_configs import (
    DESCRIBE_CONFIGS_REQUEST,
    DESCRIBE_CONFIGS_RESPONSE,
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafka_zk.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol

MANY = 3 * IN_WORDS


def fail(item: str) -> list[str]:
    raise InvalidRequest(f"{item} is wrong")


def refused(item: str, error: BrokerError) -> list[str]:
    return [item, str(error)]


def test_only_the_first_failures_say_why() -> None:
    answers = per_item([str(number) for number in range(MANY)], fail, refused)
    assert [name for name, _ in answers] == [str(number) for number in range(MANY)]
    assert [words for _, words in answers[:IN_WORDS]] == [f"{number} is wrong" for number in range(IN_WORDS)]
    assert {words for _, words in answers[IN_WORDS:]} == {""}


def test_equal_failures_are_one_answer_in_words_and_one_without() -> None:
    answers = per_distinct(["a"] * MANY, str, fail, refused)
    assert [answers[0], answers[-1]] == [["a", "a is wrong"], ["a", ""]]
    assert len({id(answer) for answer in answers}) == 2


def errors_of(request: Message[Any]) -> Form:
    served = load().get(request.api_key or 0)
    assert served is not None
    return served.errors


def test_what_succeeds_is_done_once_however_often_it_is_asked_for() -> None:
    done: list[str] = []

    def act(item: str) -> list[str]:
        done.append(item)
        return [item, ""]

    answers = per_distinct(["a", "b", "a"] * MANY, str, act, refused)
    assert done == ["a", "b"]
    assert answers[:3] == [["a", ""], ["b", ""], ["a", ""]]


def test_a_request_that_fails_as_a_whole_repeats_equal_elements_as_one() -> None:
    request = ConsumerGroupDescribeRequest(group_ids=["g"] * MANY)
    messages = CONSUMER_GROUP_DESCRIBE_REQUEST, CONSUMER_GROUP_DESCRIBE_RESPONSE
    response = error_response(errors_of(messages[0]), *messages, request, 0, InvalidRequest())
    assert len(response.groups) == MANY
    assert len({id(group) for group in response.groups}) <= 2


def test_a_request_that_fails_as_a_whole_says_why_for_its_first_elements() -> None:
    resources = [DescribeConfigsResource(resource_type=2, resource_name=str(number)) for number in range(MANY)]
    request = DescribeConfigsRequest(resources=resources)
    messages = DESCRIBE_CONFIGS_REQUEST, DESCRIBE_CONFIGS_RESPONSE
    response = error_response(errors_of(messages[0]), *messages, request, 4, InvalidRequest("no"))
    assert [result.resource_name for result in response.results] == [str(number) for number in range(MANY)]
    assert response.results[0].error_message
    assert not response.results[-1].error_message


def test_a_member_that_names_very_many_protocols_is_refused() -> None:
    protocols = [JoinGroupRequestProtocol(name=str(number)) for number in range(MAX_PROTOCOLS + 1)]
    ctx: Any = SimpleNamespace(services=SimpleNamespace(authorizer=None), may=lambda *_: True, api_version=9)
    with pytest.raises(InvalidRequest, match="1000 protocols"):
        join_group(JoinGroupRequest(group_id="g", protocols=protocols), ctx)


@pytest.mark.parametrize(
    ("given", "client_id"),
    [
        ({"protocol_type": "\ufffd" * 12_000}, "c"),
        ({"group_instance_id": "\ufffd" * 12_000}, "c"),
        ({}, "\ufffd" * 12_000),
        ({"group_instance_id": "i"}, "\ufffd" * 12_000),
    ],
)
def test_a_member_with_a_name_that_no_record_holds_is_refused(given: dict[str, str], client_id: str) -> None:
    """Its group could not be stored, so none of its members would be told of an assignment.

    The id of a static member begins with its instance id, not with its client id: both are stored.
    """
    coordinator = SimpleNamespace(new_member_id=lambda client_id, instance_id: f"{instance_id or client_id}-1")
    services = SimpleNamespace(authorizer=None, group_coordinator=coordinator)
    ctx: Any = SimpleNamespace(
        services=services, may=lambda *_: True, api_version=9, client_id=client_id, client_host="127.0.0.1"
    )
    with pytest.raises(InvalidRequest, match="32767 bytes"):
        join_group(JoinGroupRequest(group_id="g", **given), ctx)
