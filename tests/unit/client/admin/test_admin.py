"""The admin client finds brokers, agrees on versions and follows the controller."""

from __future__ import annotations

import itertools
import logging
import socket
from typing import Any

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import ConfigResource, NewTopic, ResourceType
from kafka_zk.client.errors import KafkaException, TimeoutException, UnsupportedSecurity
from kafka_zk.config.errors import ConfigException
from kafka_zk.protocol.errors import ErrorCode, InvalidTopicException, TopicAlreadyExists, UnsupportedVersion
from kafka_zk.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from kafka_zk.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.unit.client.scripted_broker import API_VERSIONS_KEY, Handler, ScriptedBroker

METADATA_KEY = 3
CREATE_TOPICS_KEY = 19
VERSIONS = {METADATA_KEY: (0, 12), API_VERSIONS_KEY: (0, 4), CREATE_TOPICS_KEY: (0, 7)}
IMPATIENT = {"default.api.timeout.ms": "400", "request.timeout.ms": "300"}


def metadata_of(broker: ScriptedBroker, **fields: Any) -> MetadataResponse:
    brokers = [MetadataResponseBroker(node_id=1, host=broker.host, port=broker.port)]
    return MetadataResponse(brokers=brokers, controller_id=1, **fields)


def listing(*names: str) -> Handler:
    topics = [MetadataResponseTopic(name=name, is_internal=name.startswith("__")) for name in names]
    return lambda request, version: MetadataResponse(topics=topics)


def test_a_request_uses_the_highest_version_both_sides_have() -> None:
    with (
        ScriptedBroker({METADATA_KEY: listing("a")}, versions={**VERSIONS, METADATA_KEY: (0, 7)}) as broker,
        AdminClient({"bootstrap.servers": broker.bootstrap}) as admin,
    ):
        admin.list_topics()
        assert broker.seen == [(API_VERSIONS_KEY, 4), (METADATA_KEY, 7)]


def test_a_broker_too_old_for_our_api_versions_request_is_asked_again() -> None:
    with (
        ScriptedBroker({METADATA_KEY: listing("a")}, versions={**VERSIONS, API_VERSIONS_KEY: (0, 2)}) as broker,
        AdminClient({"bootstrap.servers": broker.bootstrap}) as admin,
    ):
        assert [topic.name for topic in admin.list_topics()] == ["a"]
        assert broker.seen[:2] == [(API_VERSIONS_KEY, 4), (API_VERSIONS_KEY, 2)]


def test_an_api_that_the_broker_has_not_is_named() -> None:
    with (
        ScriptedBroker({}, versions={API_VERSIONS_KEY: (0, 4)}) as broker,
        AdminClient({"bootstrap.servers": broker.bootstrap}) as admin,
        pytest.raises(UnsupportedVersion, match=r"^The node does not support METADATA$"),
    ):
        admin.list_topics()


def test_internal_topics_are_listed_only_on_demand() -> None:
    with (
        ScriptedBroker({METADATA_KEY: listing("__a", "b")}, versions=VERSIONS) as broker,
        AdminClient({"bootstrap.servers": broker.bootstrap}) as admin,
    ):
        assert [topic.name for topic in admin.list_topics()] == ["b"]
        assert [topic.name for topic in admin.list_topics(internal=True)] == ["__a", "b"]


def test_a_leader_that_is_not_alive_is_no_leader() -> None:
    partitions = [
        MetadataResponsePartition(partition_index=index, leader_id=leader, replica_nodes=[1, 9], isr_nodes=[1])
        for index, leader in enumerate((1, 9, -1))
    ]
    with ScriptedBroker({}, versions=VERSIONS) as broker:
        topics = [MetadataResponseTopic(name="a", partitions=partitions)]
        broker.handlers[METADATA_KEY] = lambda *_: metadata_of(broker, topics=topics)
        with AdminClient({"bootstrap.servers": broker.bootstrap}) as admin:
            described = admin.describe_topics(["a"])["a"]
    assert [info.leader for info in described.partitions] == [1, None, None]


def test_describing_creates_nothing() -> None:
    requests = []
    with ScriptedBroker({}, versions=VERSIONS) as broker:

        def answer(request: Any, version: int) -> MetadataResponse:
            requests.append(request)
            return metadata_of(broker, topics=[MetadataResponseTopic(error_code=3, name="a")])

        broker.handlers[METADATA_KEY] = answer
        with AdminClient({"bootstrap.servers": broker.bootstrap}) as admin, pytest.raises(Exception, match="host"):
            admin.describe_topics(["a"])
    assert [request.allow_auto_topic_creation for request in requests] == [False]


def creating(*error_codes: ErrorCode) -> Handler:
    """Answers one attempt after the other, the last answer for ever."""
    codes = itertools.chain(error_codes, itertools.repeat(error_codes[-1]))
    return lambda *_: CreateTopicsResponse(topics=[CreatableTopicResult(name="a", error_code=next(codes))])


def test_a_topic_without_a_name_is_asked_of_nobody() -> None:
    with AdminClient({"bootstrap.servers": "127.0.0.1:1"}) as admin:
        for ask in (admin.describe_topics, admin.delete_topics):
            with pytest.raises(InvalidTopicException, match=r"^The given topic name '' cannot be represented"):
                ask(["t", ""])
        with pytest.raises(InvalidTopicException):
            admin.create_topics([NewTopic("", 1, 1)])


def test_a_moved_controller_is_looked_for_again() -> None:
    with ScriptedBroker({}, versions=VERSIONS) as broker:
        broker.handlers[METADATA_KEY] = lambda *_: metadata_of(broker)
        broker.handlers[CREATE_TOPICS_KEY] = creating(ErrorCode.NOT_CONTROLLER, ErrorCode.NONE)
        with AdminClient({"bootstrap.servers": broker.bootstrap}) as admin:
            admin.create_topics([NewTopic("a")])
    keys = [key for key, _ in broker.seen if key != API_VERSIONS_KEY]
    assert keys == [METADATA_KEY, CREATE_TOPICS_KEY, METADATA_KEY, CREATE_TOPICS_KEY]


def test_another_error_is_the_answer() -> None:
    with ScriptedBroker({}, versions=VERSIONS) as broker:
        broker.handlers[METADATA_KEY] = lambda *_: metadata_of(broker)
        broker.handlers[CREATE_TOPICS_KEY] = creating(ErrorCode.TOPIC_ALREADY_EXISTS)
        with AdminClient({"bootstrap.servers": broker.bootstrap}) as admin, pytest.raises(TopicAlreadyExists):
            admin.create_topics([NewTopic("a")])


def test_a_lost_connection_is_made_again() -> None:
    answers = iter([None, MetadataResponse(topics=[MetadataResponseTopic(name="a")])])
    with (
        ScriptedBroker({METADATA_KEY: lambda *_: next(answers)}, versions=VERSIONS) as broker,
        AdminClient({"bootstrap.servers": broker.bootstrap}) as admin,
    ):
        assert [topic.name for topic in admin.list_topics()] == ["a"]


def test_a_dead_bootstrap_server_does_not_matter_while_another_lives(closed_port: int) -> None:
    with (
        ScriptedBroker({METADATA_KEY: listing("a")}, versions=VERSIONS) as broker,
        AdminClient({"bootstrap.servers": f"127.0.0.1:{closed_port},{broker.bootstrap}"}) as admin,
    ):
        assert [topic.name for topic in admin.list_topics()] == ["a"]


def test_ipv6_addresses_stand_in_brackets() -> None:
    with (
        ScriptedBroker({METADATA_KEY: listing("a")}, versions=VERSIONS, host="::1") as broker,
        AdminClient({"bootstrap.servers": broker.bootstrap}) as admin,
    ):
        assert [topic.name for topic in admin.list_topics()] == ["a"]


def test_without_any_broker_a_call_ends_in_time(closed_port: int, caplog: pytest.LogCaptureFixture) -> None:
    with (
        AdminClient({"bootstrap.servers": f"127.0.0.1:{closed_port}", **IMPATIENT}) as admin,
        pytest.raises(TimeoutException, match=r"^Timed out waiting for a node assignment\. Call: listTopics$"),
    ):
        admin.list_topics()
    assert caplog.messages[0].endswith(
        f"Connection to node -1 (/127.0.0.1:{closed_port}) could not be established. Node may not be available."
    )


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.mark.parametrize(
    ("servers", "message"),
    [
        ("foo", "Invalid url in bootstrap.servers: foo"),
        ("localhost:65536", "Invalid port in bootstrap.servers: localhost:65536"),
        ("", "You must set either bootstrap.servers or bootstrap.controllers"),
    ],
)
def test_bootstrap_servers_that_name_nobody_are_refused(servers: str, message: str) -> None:
    with pytest.raises(KafkaException, match=r"^Failed to create new KafkaAdminClient$") as caught:
        AdminClient({"bootstrap.servers": servers})
    assert str(caught.value.__cause__) == message


def test_protection_that_cannot_be_given_is_refused_in_a_sentence() -> None:
    given = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SSL", "ssl.engine.factory.class": "com.Own"}
    with pytest.raises(KafkaException, match=r"^Failed to create new KafkaAdminClient$") as caught:
        AdminClient(given)
    assert isinstance(caught.value.__cause__, UnsupportedSecurity)
    assert str(caught.value.__cause__) == "ssl.engine.factory.class=com.Own cannot be used: only Java has it."


def test_a_wrong_value_is_refused_and_an_unknown_name_told_of(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ConfigException, match=r"^Invalid value x for configuration retries"):
        AdminClient({"bootstrap.servers": "127.0.0.1:1", "retries": "x"})
    caplog.set_level(logging.INFO, "org.apache.kafka.clients")
    AdminClient({"bootstrap.servers": "127.0.0.1:1", "no.such": "1"}).close()
    assert caplog.messages == ["These configurations '[no.such]' were supplied but are not used yet."]


def test_a_call_about_two_brokers_is_no_call() -> None:
    with (
        AdminClient({"bootstrap.servers": "127.0.0.1:1"}) as admin,
        pytest.raises(ValueError, match="different brokers"),
    ):
        admin.describe_configs([ConfigResource(ResourceType.BROKER, "1"), ConfigResource(ResourceType.BROKER, "2")])
