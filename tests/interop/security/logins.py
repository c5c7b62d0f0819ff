"""How each client library logs in, writes a record and reads it back."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

import confluent_kafka
import kafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider as AiokafkaTokens
from kafka.net.sasl.oauth import AbstractTokenProvider as KafkaPythonTokens

from tests.integration.security.sasl_broker import OAUTH_MODULE, PLAIN_MODULE, SCRAM_MODULE
from tests.interop.sasl.exchange import unsecured_token
from tests.support.certificates import Stores
from tests.support.golang import FRANZ_GO, built

PATIENCE_S = 20.0


@dataclass(frozen=True)
class Login:
    """Where and as whom; without a mechanism, the certificate of `stores` says who it is.

    `user` and `password` are the id and the HMAC of a delegation token if `is_token`.
    """

    bootstrap: str
    protocol: str
    mechanism: str
    user: str
    password: str
    stores: Stores
    is_token: bool = False

    @property
    def has_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def has_certificate(self) -> bool:
        return self.protocol == "SSL"

    def bearer(self) -> str:
        return unsecured_token(time.time(), sub=self.user)

    def ssl_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.stores.ca_pem))
        if self.has_certificate:
            context.load_cert_chain(self.stores.chain_pem, self.stores.key_pem)
        return context


def franz_go(login: Login, topic: str, *, records: int = 1, pause_ms: int = 0, authorization_id: str = "") -> str:
    work = {
        "brokers": [login.bootstrap],
        "mechanism": login.mechanism,
        "authorization_id": authorization_id,
        "user": login.user,
        "password": login.bearer() if login.mechanism == "OAUTHBEARER" else login.password,
        "delegation_token": login.is_token,
        "authority": str(login.stores.ca_pem) if login.has_tls else "",
        "certificate": str(login.stores.chain_pem) if login.has_certificate else "",
        "key": str(login.stores.key_pem) if login.has_certificate else "",
        "topic": topic,
        "records": records,
        "pause_ms": pause_ms,
    }
    done = subprocess.run([built(FRANZ_GO), json.dumps(work)], capture_output=True, text=True, timeout=PATIENCE_S * 2)
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    if found["error"]:
        raise RuntimeError(found["error"])
    assert found["written"] == found["read"] == records
    return topic


def librdkafka(login: Login, topic: str) -> str:
    told: list[str] = []
    config: dict[str, Any] = {
        "bootstrap.servers": login.bootstrap,
        "security.protocol": login.protocol.lower(),
        "error_cb": lambda error: told.append(error.str()),
    }
    if login.has_tls:
        config["ssl.ca.location"] = str(login.stores.ca_pem)
    if login.has_certificate:
        config["ssl.certificate.location"] = str(login.stores.chain_pem)
        config["ssl.key.location"] = str(login.stores.key_pem)
    if login.mechanism:
        config["sasl.mechanism"] = login.mechanism
    if login.mechanism == "OAUTHBEARER":
        config["oauth_cb"] = lambda _: (login.bearer(), time.time() + 3600)
    elif login.mechanism:
        config |= {"sasl.username": login.user, "sasl.password": login.password}
    producer = confluent_kafka.Producer(config)
    producer.produce(topic, topic.encode(), on_delivery=lambda error, _: told.extend([error.str()] if error else []))
    end_s = time.monotonic() + PATIENCE_S
    while len(producer) and not told and time.monotonic() < end_s:
        producer.poll(0.1)
    if len(producer) or told:
        producer.purge()
        raise RuntimeError(" ".join(told))
    consumer = confluent_kafka.Consumer(config | {"group.id": topic, "enable.auto.commit": False})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    message = consumer.poll(PATIENCE_S)
    consumer.close()
    assert message is not None and message.error() is None, message
    value = message.value()
    assert isinstance(value, bytes)
    return value.decode()


def kafka_python(login: Login, topic: str) -> str:
    class Tokens(KafkaPythonTokens):  # type: ignore[misc]
        def token(self) -> str:
            return login.bearer()

    config: dict[str, Any] = {
        "bootstrap_servers": login.bootstrap,
        "security_protocol": login.protocol,
        "ssl_context": login.ssl_context() if login.has_tls else None,
    }
    if login.mechanism:
        config["sasl_mechanism"] = login.mechanism
    if login.mechanism == "OAUTHBEARER":
        config["sasl_oauth_token_provider"] = Tokens()
    elif login.mechanism:
        config |= {"sasl_plain_username": login.user, "sasl_plain_password": login.password}
    producer = kafka.KafkaProducer(**config)
    producer.send(topic, topic.encode()).get(PATIENCE_S)
    producer.close()
    consumer = kafka.KafkaConsumer(consumer_timeout_ms=PATIENCE_S * 1000, **config)
    partition = kafka.TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    value: bytes = next(iter(consumer)).value
    consumer.close()
    return value.decode()


def aiokafka(login: Login, topic: str) -> str:
    class Tokens(AiokafkaTokens):  # type: ignore[misc]
        async def token(self) -> str:
            return login.bearer()

    config: dict[str, Any] = {
        "bootstrap_servers": login.bootstrap,
        "security_protocol": login.protocol,
        "ssl_context": login.ssl_context() if login.has_tls else None,
    }
    if login.mechanism:
        config["sasl_mechanism"] = login.mechanism
    if login.mechanism == "OAUTHBEARER":
        config["sasl_oauth_token_provider"] = Tokens()
    elif login.mechanism:
        config |= {"sasl_plain_username": login.user, "sasl_plain_password": login.password}

    async def write_and_read() -> bytes:
        async with AIOKafkaProducer(**config) as producer:
            await producer.send_and_wait(topic, topic.encode())
        async with AIOKafkaConsumer(**config) as consumer:
            partition = kafka.TopicPartition(topic, 0)
            consumer.assign([partition])
            consumer.seek(partition, 0)
            value: bytes = (await asyncio.wait_for(consumer.getone(), PATIENCE_S)).value
            return value

    return asyncio.run(write_and_read()).decode()


class Java:
    """All logins of Java's clients in one JVM."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._to: IO[str] = process.stdin
        self._from: IO[str] = process.stdout

    def __call__(self, login: Login, topic: str) -> str:
        config = {"bootstrap.servers": login.bootstrap, "security.protocol": login.protocol}
        if login.has_tls:
            config |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(login.stores.ca_pem)}
        if login.has_certificate:
            config |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(login.stores.keystore_pem)}
        if login.mechanism:
            config |= {"sasl.mechanism": login.mechanism, "sasl.jaas.config": self._jaas(login)}
        text = "".join(f"{key}={value}\n" for key, value in config.items())
        print(topic, topic, base64.b64encode(text.encode()).decode(), file=self._to, flush=True)
        answer = self._from.readline().strip()
        if answer.startswith("error"):
            raise RuntimeError(answer)
        return answer

    def _jaas(self, login: Login) -> str:
        if login.mechanism == "OAUTHBEARER":
            return f'{OAUTH_MODULE} required unsecuredLoginStringClaim_sub="{login.user}";'
        module = PLAIN_MODULE if login.mechanism == "PLAIN" else SCRAM_MODULE
        token = ' tokenauth="true"' if login.is_token else ""
        return f'{module} required username="{login.user}" password="{login.password}"{token};'


CLIENTS: dict[str, Callable[[Login, str], str]] = {
    "franz-go": franz_go,
    "librdkafka": librdkafka,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
}
"""Without Java's, which needs its JVM."""
