"""Signed tokens at our broker and at Apache's: the same ones are taken, and the same is told of the others."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest

from tests.integration.security.sasl_broker import PREFIX, sasl_overrides
from tests.integration.security.test_key_fetcher import Issuer
from tests.interop.sasl.exchange import Frame, authenticate, bearer, comparable, exchange, handshake, metadata
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot
from tests.unit.sasl.test_token_validators import EC, OTHER_RSA, RSA

SIGNED = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
Pair = tuple[str, str]


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    running = Issuer()
    yield running
    running.stop()


@pytest.fixture(scope="module", params=["", "kafka,other"], ids=["no audience", "two audiences"])
def pair(
    zookeeper: ZooKeeperServer,
    issuer: Issuer,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[Pair]:
    brokers: list[OurBroker | ApacheBroker] = []
    addresses = []
    audience = {"sasl.oauthbearer.expected.audience": request.param} if request.param else {}
    for kind in (OurBroker, ApacheBroker):
        overrides = sasl_overrides(
            {
                "sasl.enabled.mechanisms": "OAUTHBEARER",
                f"{PREFIX}oauthbearer.sasl.server.callback.handler.class": SIGNED,
                "sasl.oauthbearer.jwks.endpoint.url": issuer.url,
                "sasl.oauthbearer.expected.issuer": "https://issuer",
                **audience,
            }
        )
        addresses.append(overrides["listeners"].partition(",")[0].rpartition("://")[2])
        broker = kind(tmp_path_factory.mktemp(kind.__name__), fresh_chroot(zookeeper, "signed"), overrides=overrides)
        broker.launch()
        brokers.append(broker)
    for broker in brokers:
        broker.wait_ready()
    yield addresses[0], addresses[1]
    for broker in brokers:
        broker.stop()


def signed(key: Any = RSA, alg: str = "RS256", kid: str | None = "one", **claims: object) -> str:
    now_s = int(time.time())
    body: dict[str, Any] = {"sub": "alice", "iss": "https://issuer", "iat": 0, "exp": 3600, **claims}
    for name in ("iat", "exp", "nbf"):
        if isinstance(body.get(name), int):
            body[name] += now_s
    kept = {name: value for name, value in body.items() if value is not None}
    return jwt.encode(kept, key, alg, headers={} if kid is None else {"kid": kid})


def tokens() -> dict[str, str]:
    """Away from the edges of the skew by seconds: the brokers are asked one after the other."""
    return {
        "good": signed(),
        "another RSA algorithm": signed(alg="RS512"),
        "PSS": signed(alg="PS256"),
        "another key": signed(OTHER_RSA),
        "a curve's signature": signed(EC, alg="ES256"),
        "an HMAC": signed("secret" * 10, alg="HS256"),
        "none": signed(None, alg="none"),
        "an unknown key id": signed(kid="two"),
        "expired within the skew": signed(iat=-100, exp=-10),
        "expired beyond the skew": signed(iat=-100, exp=-40),
        "no end": signed(exp=None),
        "no issue time": signed(iat=None),
        "issued in an hour": signed(iat=3500, exp=3590),
        "not valid yet, within the skew": signed(nbf=15),
        "not valid yet": signed(nbf=60),
        "it ends before it begins": signed(iat=50, exp=20),
        "another issuer": signed(iss="https://other"),
        "no issuer": signed(iss=None),
        "an audience": signed(aud="kafka"),
        "a list of audiences": signed(aud=["x", "other"]),
        "another audience": signed(aud="x"),
        "no subject": signed(sub=None),
        "a blank subject": signed(sub=" "),
        "a subject with spaces around": signed(sub=" alice "),
        "a scope": signed(scope="a b"),
        "scopes": signed(scope=["a", "b"]),
        "a scope twice": signed(scope=["a", "a"]),
        "a blank scope": signed(scope=""),
        "a number as scope": signed(scope=7),
        "two sections": signed().rpartition(".")[0],
        "four sections": signed() + ".x",
        "no JSON": "abc.def.ghi",
    }


def test_the_same_tokens_are_taken_as_at_apache(pair: Pair) -> None:
    """(security 12.24)"""
    found = {}
    for name, text in tokens().items():
        frames: list[Frame] = [handshake("OAUTHBEARER"), authenticate(bearer(text)), authenticate(b"\x01"), metadata()]
        ours, apaches = ([comparable(each) for each in exchange(address, frames[:3]).answers] for address in pair)
        if ours != apaches:
            found[name] = ours, apaches
            print(f"{name}\n  ours    {ours}\n  Apache's {apaches}")
    assert found == {}
