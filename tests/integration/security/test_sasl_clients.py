"""Unmodified clients log in to our broker with each mechanism they have."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator

import confluent_kafka
import kafka
import kafka.errors
import pytest

from kafka_zk.protocol.messages.alter_user_scram_credentials import (
    ALTER_USER_SCRAM_CREDENTIALS_REQUEST,
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from kafka_zk.sasl.scram_credentials import BY_KEY
from tests.integration.security.sasl_broker import sasl_overrides
from tests.support.broker import OurBroker
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
ITERATIONS = 4096


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    overrides = sasl_overrides()
    running = OurBroker(
        tmp_path_factory.mktemp("sasl"), fresh_chroot(zookeeper, "sasl-clients"), overrides=overrides
    ).start()
    add_scram_user(overrides["listeners"].rpartition("://")[2], "alice", "alice-secret")
    yield running
    running.stop()


def add_scram_user(bootstrap: str, user: str, password: str) -> None:
    upsertions = []
    for key, mechanism in BY_KEY.items():
        salt = os.urandom(16)
        salted = hashlib.pbkdf2_hmac(BY_KEY[key].hash_name, password.encode(), salt, ITERATIONS)
        upsertions.append(
            ScramCredentialUpsertion(
                name=user, mechanism=mechanism.code, iterations=ITERATIONS, salt=salt, salted_password=salted
            )
        )
    request = AlterUserScramCredentialsRequest(deletions=[], upsertions=upsertions)
    with RawClient(bootstrap) as client:
        answer = client.send(ALTER_USER_SCRAM_CREDENTIALS_REQUEST, request, 0)
    assert [each.error_code for each in answer.results] == [0], answer


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python_logs_in(broker: OurBroker, mechanism: str) -> None:
    def logs_in() -> bool:
        consumer = kafka.KafkaConsumer(
            bootstrap_servers=broker.bootstrap,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism=mechanism,
            sasl_plain_username="alice",
            sasl_plain_password="alice-secret",
        )
        topics = consumer.topics()
        consumer.close()
        return isinstance(topics, set)

    assert logs_in()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_logs_in(broker: OurBroker, mechanism: str) -> None:
    assert topics_of_librdkafka(broker, mechanism, "alice-secret") is not None


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_is_refused_with_another_password(broker: OurBroker, mechanism: str) -> None:
    errors: list[confluent_kafka.KafkaError] = []
    assert topics_of_librdkafka(broker, mechanism, "wrong", errors) is None
    assert any(error.code() == confluent_kafka.KafkaError._AUTHENTICATION for error in errors), errors


def topics_of_librdkafka(
    broker: OurBroker, mechanism: str, password: str, errors: list[confluent_kafka.KafkaError] | None = None
) -> object:
    client = confluent_kafka.Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": "alice",
            "sasl.password": password,
            "error_cb": (errors if errors is not None else []).append,
        }
    )
    try:
        return client.list_topics(timeout=5)
    except confluent_kafka.KafkaException:
        client.poll(0.1)
        return None


def test_librdkafka_logs_in_with_a_token(broker: OurBroker) -> None:
    client = confluent_kafka.Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "enable.sasl.oauthbearer.unsecure.jwt": True,
            "sasl.oauthbearer.config": "principal=alice",
        }
    )
    assert client.list_topics(timeout=60).brokers
