"""The client halves of the mechanisms: what they send, and what they refuse of a server."""

from __future__ import annotations

import base64
import json

import pytest

from kafka_zk.sasl.client.exchange import ExchangeFailed
from kafka_zk.sasl.client.logins import LoginError, new_exchange
from kafka_zk.sasl.client.oauthbearer import OAuthBearerClient
from kafka_zk.sasl.client.plain import PlainClient
from kafka_zk.sasl.client.scram import ScramClient
from kafka_zk.sasl.jaas import parse_value

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
"""RFC 7677's example: user `user`, password `pencil`."""


def scram() -> ScramClient:
    client = ScramClient("SCRAM-SHA-256", "user", "pencil", nonce=NONCE)
    client.first()
    return client


def test_plain_is_one_message_and_then_complete() -> None:
    client = PlainClient("alice", "p\u00e4ss")
    assert client.first() == b"\0alice\0p\xc3\xa4ss"
    assert client.next(b"") is None and client.is_complete


def test_scram_is_rfc_7677s_exchange() -> None:
    client = ScramClient("SCRAM-SHA-256", "user", "pencil", nonce=NONCE)
    assert client.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    final = client.next(SERVER_FIRST)
    assert final is not None and final.endswith(b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    assert not client.is_complete
    assert client.next(SERVER_FINAL) is None and client.is_complete


def test_scram_names_are_escaped_and_extensions_follow_the_nonce() -> None:
    client = ScramClient("SCRAM-SHA-512", "a,b=c", "p", {"tokenauth": "true"}, nonce="N")
    assert client.first() == b"n,,n=a=2Cb=3Dc,r=N,tokenauth=true"


@pytest.mark.parametrize(
    ("server_first", "why"),
    [
        (SERVER_FIRST.replace(b"rOpr", b"XXXX"), "does not start with client nonce"),
        (SERVER_FIRST.replace(b"%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", b""), "does not start with client nonce"),
        (SERVER_FIRST.replace(b"4096", b"4095"), "less than the minimum 4096"),
        (SERVER_FIRST.replace(b"4096", b"99999999"), "more than the maximum"),
        (b"e=unknown-user", "failed with error: unknown-user"),
        (b"s=,r=", "Invalid SCRAM server first"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_a_server_that_breaks_the_rules_gets_no_proof(server_first: bytes, why: str) -> None:
    with pytest.raises(ExchangeFailed, match=why):
        scram().next(server_first)


def test_a_server_that_does_not_know_the_credential_is_refused() -> None:
    client = scram()
    client.next(SERVER_FIRST)
    with pytest.raises(ExchangeFailed, match="Invalid server signature"):
        client.next(b"v=" + base64.b64encode(bytes(32)))
    assert not client.is_complete


def test_oauthbearer_answers_a_complaint_with_one_byte_and_is_not_complete() -> None:
    client = OAuthBearerClient("abc.def.", {"traceId": "1"})
    assert client.first() == b"n,,\x01auth=Bearer abc.def.\x01traceId=1\x01\x01"
    assert client.next(b'{"status":"invalid_token"}') == b"\x01" and not client.is_complete
    assert client.next(b"") is None and client.is_complete


def test_an_unsecured_token_has_the_claims_of_the_options() -> None:
    (module,) = parse_value(
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
        'unsecuredLoginStringClaim_sub="alice" unsecuredLoginListClaim_scope=",a,b" unsecuredLoginLifetimeSeconds="60" '
        'unsecuredLoginExtension_traceId="7";'
    )
    message = new_exchange("OAUTHBEARER", module, lambda: 1000.0)().first().decode()
    assert message.endswith("\x01traceId=7\x01\x01")
    payload = message.split("Bearer ")[1].split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert claims == {"iat": 1000.0, "exp": 1060.0, "sub": "alice", "scope": ["a", "b"]}


@pytest.mark.parametrize(
    ("mechanism", "module", "why"),
    [
        ("PLAIN", "plain.PlainLoginModule required password=x;", "has no option username"),
        ("PLAIN", "scram.ScramLoginModule required username=x password=y;", "where PLAIN needs"),
        ("MD5", "plain.PlainLoginModule required;", "Failed to create SaslClient with mechanism MD5"),
        ("OAUTHBEARER", "oauthbearer.OAuthBearerLoginModule required;", "needs a claim sub"),
        (
            "PLAIN",
            'plain.PlainLoginModule required username="\ud800" password="secret-9";',
            "cannot be written as UTF-8",
        ),
    ],
)
def test_a_login_that_cannot_be_made_says_why(mechanism: str, module: str, why: str) -> None:
    (parsed,) = parse_value(f"org.apache.kafka.common.security.{module}")
    with pytest.raises(LoginError, match=why) as raised:
        new_exchange(mechanism, parsed, lambda: 0.0)
    assert "secret-9" not in str(raised.value)
