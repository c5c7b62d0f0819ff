"""The broker's half of PLAIN, SCRAM and OAUTHBEARER, token by token; Apache's own exchanges come out byte for byte."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.protocol.header import decode_request_header, decode_response_header
from kafka_zk.protocol.messages.sasl_authenticate import SASL_AUTHENTICATE_REQUEST, SASL_AUTHENTICATE_RESPONSE
from kafka_zk.sasl.scram_credentials import Credential, Mechanism, credential_of
from kafka_zk.sasl.server.mechanism import MAX_MESSAGE_BYTES, Identity, InvalidExchange, SaslRefused
from kafka_zk.sasl.server.oauthbearer import MAX_PAIRS, MAX_REFUSALS, OAuthBearerServer, TokenRefused, ValidatedToken
from kafka_zk.sasl.server.plain import PlainServer
from kafka_zk.sasl.server.scram import ScramServer, TokenLogin
from tests.interop.sasl.exchange import Scram, bearer

GOLDEN = Path(__file__).parents[2] / "golden" / "wire" / "java-clients-and-brokers.jsonl"
USERS = {"alice": "alice-secret", "bob": "bob-secret"}
TOKEN_HMAC = "pJTHl6LKA4jdbmxUjR0rACExYqp2MUshNrZvSFvFeviwJ3eI4CRc4ia5TSELllUAQ1QAqgakoXqlKiwOjg6c7Q=="


def credential(password: str, mechanism: Mechanism = Mechanism.SHA_256, iterations: int = 4096) -> Credential:
    salted = hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), b"salt", iterations)
    return credential_of(mechanism, salt=b"salt", salted_password=salted, iterations=iterations)


def scram(**users: Credential) -> ScramServer:
    return ScramServer(Mechanism.SHA_256, users.get, lambda: "servernonce")


ALICE = credential("alice-secret")


# --- PLAIN ---------------------------------------------------------------------------------------------------------


def test_plain_takes_a_user_with_the_password() -> None:
    for token in (b"\0alice\0alice-secret", b"alice\0alice\0alice-secret"):
        server = PlainServer(USERS)
        assert server.respond(token) == b""
        assert server.identity == Identity("alice")


@pytest.mark.parametrize(
    ("token", "text"),
    [
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\0a\0b\0c\0d", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0x", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0alice\0bob-secret", "Authentication failed: Invalid username or password"),
        (b"\0nobody\0x", "Authentication failed: Invalid username or password"),
        (b"bob\0nobody\0x", "Authentication failed: Invalid username or password"),
        (
            b"bob\0alice\0alice-secret",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
    ],
)
def test_plain_says_what_is_wrong_in_kafkas_words(token: bytes, text: str) -> None:
    server = PlainServer(USERS)
    with pytest.raises(SaslRefused, match=f"^{re.escape(text)}$"):
        server.respond(token)
    assert server.identity is None


# --- SCRAM ---------------------------------------------------------------------------------------------------------


def golden_exchanges() -> dict[int, list[tuple[bytes, Any]]]:
    """By connection: the tokens of a client, and what Apache answered."""
    found: dict[int, list[tuple[bytes, Any]]] = {}
    for line in GOLDEN.read_text().splitlines():
        row = json.loads(line)
        if row["api_key"] != 36:
            continue
        request, response = bytes.fromhex(row["request_hex"]), bytes.fromhex(row["response_hex"])
        header = decode_request_header(request)
        token = SASL_AUTHENTICATE_REQUEST.decode(request, 2, header.body_position).auth_bytes
        answer = SASL_AUTHENTICATE_RESPONSE.decode(response, 2, decode_response_header(response, True)[1])
        found.setdefault(row["conn"], []).append((bytes(token), answer))
    return {conn: steps for conn, steps in found.items() if len(steps) == 2}


@pytest.mark.parametrize("conn", golden_exchanges())
def test_the_exchanges_of_apache_come_out_again(conn: int) -> None:
    """(security 12.13)"""
    (first, server_first), (final, server_final) = golden_exchanges()[conn]
    salt_text, iterations = re.findall(rb"s=([^,]+),i=(\d+)$", bytes(server_first.auth_bytes))[0]
    client_nonce = first.rpartition(b"r=")[2].partition(b",")[0]
    nonce = re.findall(rb"^r=([^,]+)", bytes(server_first.auth_bytes))[0].removeprefix(client_nonce).decode()
    is_token = b"tokenauth=true" in first
    for mechanism in Mechanism:
        password = TOKEN_HMAC if is_token else "admin-secret"
        salted = hashlib.pbkdf2_hmac(
            mechanism.hash_name, password.encode(), base64.b64decode(salt_text), int(iterations)
        )
        stored = credential_of(
            mechanism, salt=base64.b64decode(salt_text), salted_password=salted, iterations=int(iterations)
        )

        class Tokens:
            def scram_login(self, mechanism_key: str, token_id: str, found: Credential = stored) -> TokenLogin:
                return TokenLogin(found, "admin", 99)

        server = ScramServer(mechanism, {"admin": stored}.get, lambda made=nonce: made, Tokens())
        assert server.respond(first) == bytes(server_first.auth_bytes)
        try:
            answer = server.respond(final)
        except InvalidExchange:
            continue
        assert answer == bytes(server_final.auth_bytes)
        assert server.identity == (Identity("admin", 99, True) if is_token else Identity("admin"))
        return
    assert server_final.error_code == 58, "neither mechanism verifies what Apache took"


def outcome(client: Scram, server: ScramServer) -> str:
    """The name that logged in, or what the exception is called."""
    try:
        server.respond(client.final(server.respond(client.first())))
    except (InvalidExchange, SaslRefused) as error:
        assert server.identity is None
        return type(error).__name__
    assert server.identity is not None
    return server.identity.name


@pytest.mark.parametrize(
    ("client", "name"),
    [
        (Scram(), "alice"),
        (Scram(in_front_of_the_nonce="clientnonce"), "alice"),
        (Scram(in_front_of_the_nonce="anything"), "alice"),
        (Scram(gs2="n,a=alice,"), "alice"),
        (Scram(gs2="n,a=alice,", channel="biws"), "alice"),
        (Scram(reserved="m=x,"), "alice"),
        (Scram(extensions=",foo=bar,x=y", final_extensions=",z=1"), "alice"),
        (Scram(wrong_nonce=True), "InvalidExchange"),
        (Scram(password="wrong"), "InvalidExchange"),
        (Scram(user="nobody"), "InvalidExchange"),
        (Scram(gs2="n,a=bob,"), "SaslRefused"),
        (Scram(gs2="y,,"), "InvalidExchange"),
        (Scram(proof_bytes=31), "InvalidExchange"),
        (Scram(proof_bytes=0), "InvalidExchange"),
        (Scram(extensions=",tokenauth=true"), "InvalidExchange"),
    ],
)
def test_scram_takes_who_proves_the_password_and_nobody_else(client: Scram, name: str) -> None:
    """(security 12.17, 12.18)"""
    assert outcome(client, scram(alice=ALICE)) == name


def test_a_client_final_of_another_exchange_is_refused() -> None:
    """(security 12.17)"""
    client, nonces = Scram(), iter(("one", "two"))
    servers = [ScramServer(Mechanism.SHA_256, {"alice": ALICE}.get, lambda: next(nonces)) for _ in range(2)]
    final = client.final(servers[0].respond(client.first()))
    servers[1].respond(client.first())
    with pytest.raises(InvalidExchange):
        servers[1].respond(final)
    assert servers[0].respond(final).startswith(b"v=")


def test_names_are_escaped_in_scram() -> None:
    """(security 12.18)"""
    server = ScramServer(Mechanism.SHA_256, {"a,b=c": ALICE}.get, lambda: "n")
    assert outcome(Scram(user="a=2Cb=3Dc"), server) == "a,b=c"
    assert outcome(Scram(user="a=41"), scram(alice=ALICE)) == "InvalidExchange"


@pytest.mark.parametrize(("iterations", "name"), [(4095, "InvalidExchange"), (4096, "alice"), (20000, "alice")])
def test_stored_iterations_have_a_lower_bound_only(iterations: int, name: str) -> None:
    """(security 12.20)"""
    assert outcome(Scram(), scram(alice=credential("alice-secret", iterations=iterations))) == name


# --- OAUTHBEARER -----------------------------------------------------------------------------------------------------


def validate(token: str) -> ValidatedToken:
    if token != "good":
        raise TokenRefused("bad", ("a", "b") if token == "narrow" else None)
    return ValidatedToken("alice", 1234)


def test_a_good_token_logs_in() -> None:
    server = OAuthBearerServer(validate)
    assert server.respond(bearer("good", scheme="BEARER", more="traceId=1\x01")) == b""
    assert server.identity == Identity("alice", 1234)


@pytest.mark.parametrize(
    ("token", "told"),
    [("bad", '{"status":"invalid_token"}'), ("narrow", '{"status":"insufficient_scope", "scope":"[a, b]"}')],
)
def test_a_refused_token_is_told_as_json_and_fails_with_the_clients_next_byte(token: str, told: str) -> None:
    """(security 12.24)"""
    server = OAuthBearerServer(validate)
    assert server.respond(bearer(token)) == told.encode()
    assert server.identity is None
    with pytest.raises(SaslRefused, match=f"^{re.escape(told)}$"):
        server.respond(b"\x01")


def test_a_refused_token_may_be_followed_by_a_good_one_but_not_for_ever() -> None:
    server = OAuthBearerServer(validate)
    for _ in range(MAX_REFUSALS):
        server.respond(bearer("bad"))
    with pytest.raises(SaslRefused):
        server.respond(bearer("good"))
    server = OAuthBearerServer(validate)
    server.respond(bearer("bad"))
    server.respond(bearer("good"))
    assert server.identity is not None


@pytest.mark.parametrize(
    "message", [b"", b"\x01", b"n,,\x01\x01", b"n,,\x01key=v\x01\x01", bearer("good", scheme="Basic"), bearer("a b")]
)
def test_what_is_no_first_message_is_no_exchange(message: bytes) -> None:
    with pytest.raises(InvalidExchange):
        OAuthBearerServer(validate).respond(message)


def test_a_foreign_authorization_id_is_refused() -> None:
    text = (
        "Authentication failed: Client requested an authorization id (bob) that is different from the token's "
        "principal name (alice)"
    )
    with pytest.raises(SaslRefused, match=f"^{re.escape(text)}$"):
        OAuthBearerServer(validate).respond(bearer("good", authorization_id="bob"))


# --- all -------------------------------------------------------------------------------------------------------------

FRAME_BYTES = 524_288
"""sasl.server.max.receive.size: what anybody may send who has not logged in."""


def begun() -> ScramServer:
    server = scram(alice=ALICE)
    server.respond(b"n,,n=alice,r=nonce")
    return server


def filled(begin: bytes, unit: bytes, end: bytes, size: int) -> bytes:
    return begin + unit * ((size - len(begin) - len(end)) // len(unit)) + end


@pytest.mark.parametrize("size", [FRAME_BYTES, 81_920, 16_384])
@pytest.mark.parametrize(("make", "begin", "unit", "end"), [
    (lambda: scram(alice=ALICE), b"n,,n=", b"a", b",r=nonce"),
    (lambda: scram(alice=ALICE), b"n,,n=", b"=2C", b",r=nonce"),
    (lambda: scram(alice=ALICE), b"n,a=", b"a", b",n=alice,r=nonce"),
    (lambda: scram(alice=ALICE), b"n,,n=nobody,r=nonce", b",a=b", b""),
    (begun, b"c=biws,r=noncex", b",p=AAAA", b",q"),
    (begun, b"c=", b"AAAA", b"!"),
    (lambda: OAuthBearerServer(validate), b"n,a=", b"a", b",\x01auth=Bearer bad\x01\x01"),
    (lambda: OAuthBearerServer(validate), b"n,,\x01", b"a=b\x01", b"auth=Bearer bad\x01\x01"),
    (lambda: OAuthBearerServer(validate), b"n,,\x01auth=", b"a", b"\x01\x01"),
    (lambda: PlainServer(USERS), b"\0alice\0", b"\xff", b""),
])  # fmt: skip
def test_a_long_message_holds_up_nobody(
    make: Callable[[], Any], begin: bytes, unit: bytes, end: bytes, size: int
) -> None:
    message = filled(begin, unit, end, size)
    server = make()
    # The least of some attempts: the first one may meet a collection of garbage.
    taken_s = []
    for _ in range(3):
        started_s = time.thread_time()
        with suppress(InvalidExchange, SaslRefused):
            server.respond(message)
        taken_s.append(time.thread_time() - started_s)
    assert min(taken_s) < 0.008


def test_a_scram_message_longer_than_any_client_sends_is_refused_unread() -> None:
    longest = filled(b"n,,n=alice,r=", b"a", b"", MAX_MESSAGE_BYTES)
    assert scram(alice=ALICE).respond(longest)
    with pytest.raises(InvalidExchange, match="more than"):
        scram(alice=ALICE).respond(longest + b"a")


def test_an_oauthbearer_message_has_few_extensions() -> None:
    assert OAuthBearerServer(validate).respond(bearer("good", more="a=b\x01" * (MAX_PAIRS // 2))) == b""
    with pytest.raises(InvalidExchange):
        OAuthBearerServer(validate).respond(bearer("good", more="a=b\x01" * (MAX_PAIRS + 10)))


@pytest.mark.parametrize(
    "make", [lambda: PlainServer(USERS), lambda: scram(alice=ALICE), lambda: OAuthBearerServer(validate)]
)
def test_no_secret_is_shown(make: Callable[[], Any]) -> None:
    server = make()
    assert "secret" not in repr(server)
    assert repr(ALICE) == "Credential(iterations=4096)"
