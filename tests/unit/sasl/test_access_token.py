"""Access tokens: the request for one, what an answer must hold, when the next one is due."""

from __future__ import annotations

import base64
import json
import threading
import time

import pytest

from kafka_zk.sasl.client import token_source
from kafka_zk.sasl.client.access_token import (
    AccessToken,
    BadToken,
    RefreshRules,
    access_token,
    authorization,
    request_body,
    token_in,
)
from kafka_zk.sasl.client.token_source import TokenEndpoint, TokenSource, TokenUnavailable, persistent


def jwt(**claims: object) -> str:
    header, payload = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in ({"alg": "RS256"}, claims)
    )
    return f"{header}.{payload}.c2VjcmV0"


def test_the_request_is_a_form_with_basic_authorization() -> None:
    assert authorization("me", "s+/:", is_encoded=False) == "Basic " + base64.b64encode(b"me:s+/:").decode()
    assert authorization("me", "s+/:", is_encoded=True) == "Basic " + base64.b64encode(b"me:s%2B%2F%3A").decode()
    assert request_body(None) == request_body("  ") == b"grant_type=client_credentials"
    assert request_body("read write") == b"grant_type=client_credentials&scope=read+write"


@pytest.mark.parametrize("answer", [b"", b"[]", b"{", b'{"access_token": 7}', b'{"access_token": " "}', b'"secret-7"'])
def test_an_answer_without_a_token_is_refused_and_not_shown(answer: bytes) -> None:
    with pytest.raises(BadToken) as raised:
        token_in(answer)
    assert "secret" not in str(raised.value)


def test_a_token_has_its_times_and_hides_its_text() -> None:
    token = access_token(f" {jwt(sub='alice', iat=1000, exp=1060.5)}\n")
    assert (token.issued_ms, token.expires_ms) == (1_000_000, 1_060_500)
    assert token.text not in repr(token) and not token.text.endswith("\n")
    assert access_token(jwt(sub="alice", exp=1)).issued_ms is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (" ", "Empty JWT"),
        ("secret.7", "three sections"),
        ("secret.7.", "three sections"),
        ("a.!.secret", "payload"),
        (jwt(sub="alice"), "exp value must be non-null"),
        (jwt(sub="alice", exp="soon"), "exp value must be a time"),
        (jwt(sub="alice", exp=float("inf")), "exp value must be a time"),
        (jwt(sub="alice", exp=10**400), "exp value must be a time"),
        (jwt(exp=1), "sub value must be non-empty"),
        (jwt(sub="alice", exp=1, scope=" "), "scope value"),
    ],
)
def test_what_no_broker_could_take_is_refused_here(text: str, why: str) -> None:
    with pytest.raises(BadToken, match=why) as raised:
        access_token(text)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("lifetime_s", "due_s"),
    [(3600, 2880), (1000, 700), (360, 288), (300, 240)],
    ids=["share", "buffer", "at the limits", "limits do not count"],
)
def test_the_next_token_is_due_within_the_limits(lifetime_s: int, due_s: int) -> None:
    token = AccessToken("", 0, lifetime_s * 1000)
    found = RefreshRules().refresh_at_ms(token, 0, 0.0)
    assert found == (min(due_s, lifetime_s - 300) if lifetime_s >= 360 else due_s) * 1000


def test_an_old_token_is_not_renewed_before_the_shortest_period() -> None:
    assert RefreshRules().refresh_at_ms(AccessToken("", 0, 1_000_000), 600_000, 0.0) == 700_000
    assert RefreshRules().refresh_at_ms(AccessToken("", 0, 2_000_000), 1_610_000, 0.0) == 1_670_000


class Issuer:
    """Gives tokens that live for `lifetime_s`, or fails while `why` is set."""

    def __init__(self, lifetime_s: float) -> None:
        self.lifetime_s = lifetime_s
        self.count = 0
        self.why: TokenUnavailable | None = None
        self.may_answer = threading.Event()
        self.may_answer.set()

    def ask(self) -> str:
        self.may_answer.wait(10)
        if self.why is not None:
            raise self.why
        self.count += 1
        return jwt(sub="alice", exp=time.time() + self.lifetime_s, n=self.count)


def test_a_good_token_is_given_while_the_next_one_is_fetched() -> None:
    issuer = Issuer(10.0)
    source = TokenSource(issuer.ask, access_token, RefreshRules(window_factor=0.05, window_jitter=0.0))
    source.start()
    first = source.token()
    issuer.may_answer.clear()
    time.sleep(0.7)
    begun_s = time.monotonic()
    assert source.token() == source.token() == first
    assert time.monotonic() - begun_s < 0.5
    issuer.may_answer.set()
    end_s = time.monotonic() + 5
    # Nobody has to ask for the renewal: it comes before the sessions of the old token end.
    while issuer.count == 1 and time.monotonic() < end_s:
        time.sleep(0.01)
    time.sleep(0.1)
    assert source.token() != first
    assert first not in repr(source)


def test_a_token_that_has_ended_is_never_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_source, "SHORTEST_PAUSE_MS", 60_000)
    issuer = Issuer(0.05)
    source = TokenSource(issuer.ask, access_token, RefreshRules())
    source.start()
    first = source.token()
    time.sleep(0.1)
    issuer.why = TokenUnavailable("down")
    with pytest.raises(TokenUnavailable, match="down"):
        source.token()
    issuer.why = None
    assert source.token() != first


def test_a_token_near_its_end_is_given_only_where_there_is_no_other() -> None:
    """Its session would end before brokers take a renewal."""
    issuer = Issuer(1.0)
    source = TokenSource(issuer.ask, access_token, RefreshRules(window_factor=1.0, window_jitter=0.0))
    source.start()
    issuer.lifetime_s = 10.0
    longer = source.token()
    assert issuer.count == 2
    assert source.token() == longer and issuer.count == 2
    issuer.lifetime_s = 1.0
    source.renew()
    issuer.why = TokenUnavailable("down")
    assert source.token()


def test_only_what_may_pass_is_asked_again() -> None:
    asked: list[float] = []

    def fails(*, is_final: bool) -> str:
        asked.append(time.monotonic())
        raise TokenUnavailable("no", is_final=is_final)

    with pytest.raises(TokenUnavailable):
        persistent(lambda: fails(is_final=True), 10, 1000)()
    assert len(asked) == 1
    with pytest.raises(TokenUnavailable):
        persistent(lambda: fails(is_final=False), 10, 100)()
    assert 3 <= len(asked) - 1 <= 6
    assert asked[-1] - asked[1] < 5


def test_no_repr_shows_the_clients_secret() -> None:
    assert "secret-7" not in repr(TokenEndpoint("http://127.0.0.1:1/", "me", "secret-7"))
