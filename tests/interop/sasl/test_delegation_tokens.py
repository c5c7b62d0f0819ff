"""Delegation tokens in one cluster of Apache's broker and ours: equal answers, and tokens that are good at both."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_zk.protocol.messages.create_delegation_token import (
    CREATE_DELEGATION_TOKEN_REQUEST,
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from kafka_zk.protocol.messages.describe_delegation_token import (
    DESCRIBE_DELEGATION_TOKEN_REQUEST,
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from kafka_zk.protocol.messages.expire_delegation_token import (
    EXPIRE_DELEGATION_TOKEN_REQUEST,
    ExpireDelegationTokenRequest,
)
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest
from kafka_zk.protocol.messages.renew_delegation_token import (
    RENEW_DELEGATION_TOKEN_REQUEST,
    RenewDelegationTokenRequest,
)
from kafka_zk.sasl.client.exchange import Exchange
from kafka_zk.sasl.client.login import AuthenticationFailed, Login
from kafka_zk.sasl.client.plain import PlainClient
from kafka_zk.sasl.client.scram import ScramClient
from tests.integration.security.sasl_broker import SCRAM_MODULE, sasl_overrides
from tests.support.apache import ApacheBroker, run_tool
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import ConnectionClosed, RawClient, all_versions, as_plain
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

SECRET = "the-cluster's-secret-5"
HOUR_MS = 3_600_000
TOLD = re.compile(r"\[(Token Manager on Node .*?) \(kafka")


class Brokers(NamedTuple):
    """Addresses: where clients log in, and the plain ones."""

    ours: str
    apaches: str
    ours_plain: str
    apaches_plain: str
    our_broker: OurBroker
    apache_broker: ApacheBroker


@pytest.fixture(scope="module")
def brokers(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    chroot = fresh_chroot(zookeeper, "tokens")
    started: list[OurBroker | ApacheBroker] = []
    addresses, plain = [], []
    for broker_id, kind in enumerate((OurBroker, ApacheBroker)):
        overrides = sasl_overrides(
            {"delegation.token.secret.key": SECRET, "delegation.token.expiry.time.ms": "7200000"}
        )
        login, _, other = overrides["listeners"].partition(",")
        addresses.append(login.rpartition("://")[2])
        plain.append(other.rpartition("://")[2])
        broker = kind(tmp_path_factory.mktemp(kind.__name__), chroot, broker_id=broker_id, overrides=overrides)
        broker.launch()
        started.append(broker)
    for broker in started:
        broker.wait_ready()
    ours, apaches = started
    assert isinstance(ours, OurBroker) and isinstance(apaches, ApacheBroker)
    yield Brokers(*addresses, *plain, ours, apaches)
    for broker in started:
        broker.stop()


@contextmanager
def logged_in(address: str, exchange: Exchange) -> Iterator[RawClient]:
    with RawClient(address) as client:
        login = Login(lambda: exchange, "tokens")
        frame: bytes | None = login.begin()
        while frame is not None:
            client.send_frame(frame[4:])
            frame = login.received(client.receive_frame())
        yield client


def user(name: str) -> PlainClient:
    return PlainClient(name, f"{name}-secret")


def with_token(token_id: str, hmac: bytes, mechanism: str = "SCRAM-SHA-256") -> ScramClient:
    return ScramClient(mechanism, token_id, base64.b64encode(hmac).decode(), {"tokenauth": "true"})


def creation(*renewers: tuple[str, str], life_ms: int = -1, owner: str | None = None) -> CreateDelegationTokenRequest:
    return CreateDelegationTokenRequest(
        owner_principal_type="User" if owner else "",
        owner_principal_name=owner or "",
        renewers=[CreatableRenewers(principal_type=kind, principal_name=name) for kind, name in renewers],
        max_lifetime_ms=life_ms,
    )


def create(address: str, *renewers: tuple[str, str], **options: Any) -> CreateDelegationTokenResponse:
    with logged_in(address, user("alice")) as client:
        answer = client.send(CREATE_DELEGATION_TOKEN_REQUEST, creation(*renewers, **options), 3)
    assert not answer.error_code, answer
    assert isinstance(answer, CreateDelegationTokenResponse)
    return answer


def shown(answer: Any) -> Any:
    """With times as what they are apart, and without what is drawn by chance."""
    plain = as_plain(answer)
    for token in (plain, *plain.get("tokens", [])):
        issued = token.pop("issue_timestamp_ms", token.pop("issue_timestamp", None))
        for key in [key for key in token if "timestamp" in key]:
            if issued is not None and issued >= 0:
                token[key] -= issued
            elif token[key] > 0:
                token[key] = "some time"
        if token.get("token_id"):
            token["token_id"], token["hmac"] = len(token["token_id"]), len(token["hmac"])
    return plain


REQUESTS = (
    (CREATE_DELEGATION_TOKEN_REQUEST, creation(("User", "bob"))),
    (RENEW_DELEGATION_TOKEN_REQUEST, RenewDelegationTokenRequest(hmac=b"nobody's", renew_period_ms=-1)),
    (EXPIRE_DELEGATION_TOKEN_REQUEST, ExpireDelegationTokenRequest(hmac=b"nobody's", expiry_time_period_ms=-1)),
    (DESCRIBE_DELEGATION_TOKEN_REQUEST, DescribeDelegationTokenRequest(owners=[])),
)


def test_over_plain_text_no_token_request_is_allowed(brokers: Brokers) -> None:
    """(security 12.22)"""
    for message, request in REQUESTS:
        for version in all_versions(message):
            answers = []
            for address in (brokers.ours_plain, brokers.apaches_plain):
                with RawClient(address) as client:
                    answers.append(as_plain(client.send(message, request, version)))
            assert answers[0] == answers[1] and answers[0]["error_code"] == 64


def test_every_version_answers_as_apaches(brokers: Brokers) -> None:
    for message, request in REQUESTS:
        for version in all_versions(message):
            answers = []
            for address in (brokers.ours, brokers.apaches):
                with logged_in(address, user("alice")) as client:
                    answers.append(shown(client.send(message, request, version)))
            assert answers[0] == answers[1], (message.name, version)


def test_lifetimes_owners_and_renewers_are_taken_as_at_apache(brokers: Brokers) -> None:
    for request in (
        creation(life_ms=HOUR_MS),
        creation(life_ms=0),
        creation(life_ms=2**62),
        creation(owner="carol"),
        CreateDelegationTokenRequest(owner_principal_type=None, owner_principal_name="carol", max_lifetime_ms=-1),
        creation(("Group", "bob")),
        creation(("User", "bob"), ("User", "")),
    ):
        answers = []
        for address in (brokers.ours, brokers.apaches):
            with logged_in(address, user("alice")) as client:
                answers.append(shown(client.send(CREATE_DELEGATION_TOKEN_REQUEST, request, 3)))
        assert answers[0] == answers[1]


@pytest.mark.parametrize("made_by", ["ours", "apaches"])
def test_a_token_of_one_broker_lives_on_the_other(brokers: Brokers, made_by: str) -> None:
    """(security 12.21)"""
    maker, other = brokers.ours, brokers.apaches
    if made_by == "apaches":
        maker, other = other, maker
    token = create(maker, ("User", "bob"))
    hmac = bytes(token.hmac)
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        wait_until(partial(can_log_in, other, token.token_id, hmac, mechanism), "the other broker knows the token")
    with logged_in(other, with_token(token.token_id, hmac)) as client:
        # A session of a token may not ask for tokens, before anything else is looked at. (security 12.22)
        assert client.send(CREATE_DELEGATION_TOKEN_REQUEST, creation(), 3).error_code == 64
        assert client.send(METADATA_REQUEST, MetadataRequest(topics=[]), 9).brokers
    renewal = RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=3 * HOUR_MS)
    with logged_in(other, user("bob")) as client:
        renewed = client.send(RENEW_DELEGATION_TOKEN_REQUEST, renewal, 2)
        assert not renewed.error_code and renewed.expiry_timestamp_ms > token.expiry_timestamp_ms
    request = DescribeDelegationTokenRequest(
        owners=[DescribeDelegationTokenOwner(principal_type="User", principal_name="bob")]
    )
    for address in (maker, other):
        with logged_in(address, user("bob")) as client:
            wait_until(
                lambda client=client: (
                    [
                        (each.hmac, each.expiry_timestamp)
                        for each in client.send(DESCRIBE_DELEGATION_TOKEN_REQUEST, request, 3).tokens
                        if each.token_id == token.token_id
                    ]
                    == [(hmac, renewed.expiry_timestamp_ms)]
                ),
                "both know the new end",
            )
    removal = ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=-1)
    with logged_in(maker, user("alice")) as client:
        assert not client.send(EXPIRE_DELEGATION_TOKEN_REQUEST, removal, 2).error_code
    wait_until(lambda: not can_log_in(other, token.token_id, hmac), "the token is gone")


def test_a_java_client_logs_in_with_a_token(brokers: Brokers, tmp_path: Path) -> None:
    """(security 12.21)"""
    token = create(brokers.ours)
    login = (
        f'{SCRAM_MODULE} required username="{token.token_id}" password="{base64.b64encode(token.hmac).decode()}" '
        'tokenauth="true";'
    )
    properties = tmp_path / "client.properties"
    lines = "security.protocol=SASL_PLAINTEXT", "sasl.mechanism=SCRAM-SHA-512", f"sasl.jaas.config={login}"
    properties.write_text("\n".join(lines))
    for address in (brokers.ours, brokers.apaches):
        wait_until(partial(can_log_in, address, token.token_id, bytes(token.hmac)), "the broker knows the token")
        run = run_tool(
            "org.apache.kafka.tools.TopicCommand",
            *("--bootstrap-server", address, "--command-config", str(properties), "--list"),
        )
        assert not run.exit_code, run


def test_a_requester_may_describe_a_token_and_not_renew_it(brokers: Brokers) -> None:
    """(security 12.22)"""
    codes = []
    for address in (brokers.ours, brokers.apaches):
        token = create(address, owner="dave")
        with logged_in(address, user("alice")) as client:
            described = client.send(DESCRIBE_DELEGATION_TOKEN_REQUEST, DescribeDelegationTokenRequest(owners=None), 3)
            assert token.token_id in [each.token_id for each in described.tokens]
            renewal = RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=-1)
            codes.append(client.send(RENEW_DELEGATION_TOKEN_REQUEST, renewal, 2).error_code)
    assert codes == [63, 63]


def test_an_expired_token_logs_in_until_it_is_swept_and_its_first_request_closes(brokers: Brokers) -> None:
    """(security 12.23)"""
    for address in (brokers.ours, brokers.apaches):
        token = create(address)
        end = ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=0)
        with logged_in(address, user("alice")) as client:
            assert not client.send(EXPIRE_DELEGATION_TOKEN_REQUEST, end, 2).error_code
            late = RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=-1)
            wait_until(
                lambda client=client, late=late: client.send(RENEW_DELEGATION_TOKEN_REQUEST, late, 2).error_code == 66,
                "its time is over",
            )
        with (
            logged_in(address, with_token(token.token_id, bytes(token.hmac))) as client,
            pytest.raises((ConnectionClosed, ConnectionError)),
        ):
            client.send(METADATA_REQUEST, MetadataRequest(topics=[]), 9)


def test_a_broker_with_another_secret_refuses_the_token(
    brokers: Brokers, zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    """(security 12.21)"""
    token = create(brokers.ours)
    overrides = sasl_overrides({"delegation.token.secret.key": "another secret"})
    chroot = brokers.our_broker.zookeeper
    stranger = OurBroker(tmp_path, chroot, broker_id=7, overrides=overrides).start()
    try:
        assert not can_log_in(stranger.bootstrap, token.token_id, bytes(token.hmac))
    finally:
        stranger.stop()


def test_the_log_tells_of_tokens_what_apaches_tells_and_never_an_hmac(brokers: Brokers) -> None:
    token = create(brokers.ours)
    create(brokers.apaches)
    outputs = brokers.our_broker.process.output, brokers.apache_broker.process.output
    brokers.our_broker.says(f"Created a delegation token: {token.token_id} for owner: User:alice")

    def lines() -> list[set[str]]:
        return [{line for line in map(told, output().splitlines()) if line} for output in outputs]

    with suppress(AssertionError):  # What differs is told below.
        wait_until(lambda: len(set(map(frozenset, lines()))) == 1, "both logs tell the same")
    ours, apaches = lines()
    assert ours == apaches
    output = outputs[0]()
    for secret in (base64.b64encode(token.hmac).decode(), bytes(token.hmac).hex(), SECRET):
        assert secret not in output


def told(line: str) -> str:
    """What a line says of a token, without what differs; "" for another line."""
    found = TOLD.search(line)
    return "" if found is None else re.sub(r"Node \d|(?<= )[\w-]{22}(?= |$)", "ID", found[1])


def can_log_in(address: str, token_id: str, hmac: bytes, mechanism: str = "SCRAM-SHA-256") -> bool:
    try:
        with logged_in(address, with_token(token_id, hmac, mechanism)):
            return True
    except AuthenticationFailed:
        return False
