"""What each frame means in each state of a login, how long a session lasts, and when keys are looked for again."""

from __future__ import annotations

import itertools

import pytest

from kafka_zk.sasl.scram_credentials import Mechanism
from kafka_zk.security.authentication.credential_cache import CredentialCache
from kafka_zk.security.authentication.missing_keys import LONGEST_KEY_ID, LOOK_AGAIN_MS, REMEMBERED, MissingKeys
from kafka_zk.security.authentication.session import NextRequest, Session, next_request, session_of
from kafka_zk.security.authentication.states import TABLE, Frame, State, Step, step

CREDENTIAL = "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=4096"


def test_every_frame_has_a_meaning_in_every_state_that_expects_one() -> None:
    assert TABLE.keys() == set(State) - {State.COMPLETE, State.FAILED}
    for state, frame in itertools.product(TABLE, Frame):
        assert isinstance(step(state, frame), Step)


def test_a_token_is_taken_only_after_a_handshake() -> None:
    takes = {state for state, frame in itertools.product(TABLE, Frame) if step(state, frame) is Step.TAKE_TOKEN}
    assert takes == {State.AUTHENTICATE, State.AUTHENTICATE_RAW}


def test_nothing_but_three_apis_is_ever_answered() -> None:
    for state in TABLE.keys() - {State.AUTHENTICATE_RAW}:
        for frame in (Frame.OTHER_API, Frame.FOREIGN):
            assert step(state, frame) not in (Step.TELL_VERSIONS, Step.CHOOSE_MECHANISM, Step.TAKE_TOKEN)


def test_only_the_first_frame_may_be_a_token_of_an_old_client() -> None:
    olds = {state for state in TABLE if step(state, Frame.FOREIGN) is Step.TAKE_FIRST_TOKEN_OF_GSSAPI}
    assert olds == {State.INITIAL_REQUEST}


@pytest.mark.parametrize(
    ("expires_ms", "max_reauth_ms", "lifetime_ms", "ends_at_ms"),
    [
        (None, 0, 0, None),
        (None, 5000, 5000, 5100),
        (9000, 0, 8000, 8100),
        (9000, 5000, 5000, 5100),
        (3000, 5000, 2000, 2100),
        (1000, 5000, 0, 100),
        (10, 0, 0, 100),
    ],
)
def test_the_shorter_life_ends_a_session(
    expires_ms: int | None, max_reauth_ms: int, lifetime_ms: int, ends_at_ms: int | None
) -> None:
    session = session_of(credential_expires_ms=expires_ms, max_reauth_ms=max_reauth_ms, wall_ms=1000, monotonic_ms=100)
    assert session == Session(lifetime_ms, ends_at_ms)


@pytest.mark.parametrize(
    ("ends_at_ms", "is_handshake", "began_again_ms", "expected"),
    [
        (None, True, None, NextRequest.SERVE),
        (None, False, None, NextRequest.SERVE),
        (6000, False, None, NextRequest.SERVE),
        (6000, True, None, NextRequest.LOG_IN_AGAIN),
        (6000, True, 4000, NextRequest.LOG_IN_AGAIN),
        (6000, True, 4001, NextRequest.SERVE),
        (5000, True, None, NextRequest.LOG_IN_AGAIN),
        (5000, True, 4001, NextRequest.DISCONNECT),
        (5000, False, None, NextRequest.DISCONNECT),
        (5001, False, None, NextRequest.SERVE),
    ],
)
def test_a_request_is_served_until_the_end_and_a_handshake_may_begin_again_after_it(
    ends_at_ms: int | None, is_handshake: bool, began_again_ms: int | None, expected: NextRequest
) -> None:
    """(security 12.25). It is 5000."""
    session = Session(0, ends_at_ms)
    found = next_request(session, is_handshake=is_handshake, began_again_ms=began_again_ms, monotonic_ms=5000)
    assert found is expected


def test_an_unknown_key_id_is_looked_for_once_a_minute() -> None:
    """(security 12.24: rotation of key ids)"""
    missing = MissingKeys()
    assert missing.is_worth_a_look("a", 0)
    assert not missing.is_worth_a_look("a", LOOK_AGAIN_MS - 1)
    assert missing.is_worth_a_look("a", LOOK_AGAIN_MS)
    assert not missing.is_worth_a_look("x" * (LONGEST_KEY_ID + 1), 0)
    missing.forget(frozenset({"a"}))
    assert missing.is_worth_a_look("a", LOOK_AGAIN_MS)


def test_only_some_unknown_key_ids_are_remembered() -> None:
    missing = MissingKeys()
    for number in range(REMEMBERED + 1):
        assert missing.is_worth_a_look(str(number), 0)
    assert missing.is_worth_a_look("0", 0)
    assert not missing.is_worth_a_look(str(REMEMBERED), 0)


def test_credentials_follow_the_notices_of_their_users() -> None:
    """(security 12.19)"""
    cache = CredentialCache(["PLAIN", "SCRAM-SHA-256"])
    of = cache.credentials_of(Mechanism.SHA_256)
    cache.apply((("users", "bob"),), {"SCRAM-SHA-256": CREDENTIAL, "SCRAM-SHA-512": CREDENTIAL, "x": "y"})
    assert of("bob") is not None and of("bob").iterations == 4096
    cache.apply((("users", "bob"),), {"SCRAM-SHA-256": "salt=no"})
    assert of("bob") is not None, "what is no credential leaves the old one"
    cache.apply((("users", "bob"),), {})
    assert of("bob") is None


def test_after_a_lost_session_only_stored_credentials_count() -> None:
    """A removal whose notice is gone by now has its effect all the same."""
    cache = CredentialCache(["SCRAM-SHA-256"])
    for user in ("gone", "stays"):
        cache.apply((("users", user),), {"SCRAM-SHA-256": CREDENTIAL})
    cache.replace({"stays": {"SCRAM-SHA-256": CREDENTIAL}, "new": {"SCRAM-SHA-256": CREDENTIAL}, "none": {}})
    of = cache.credentials_of(Mechanism.SHA_256)
    assert [of(user) is not None for user in ("gone", "stays", "new", "none")] == [False, True, True, False]


@pytest.mark.parametrize("entity", [(("users", None),), (("users", "bob"), ("clients", "c")), (("clients", "bob"),)])
def test_nobody_else_has_credentials(entity: tuple[tuple[str, str | None], ...]) -> None:
    cache = CredentialCache(["SCRAM-SHA-256"])
    cache.apply(entity, {"SCRAM-SHA-256": CREDENTIAL})
    assert cache.credentials_of(Mechanism.SHA_256)("bob") is None
    with pytest.raises(KeyError):
        cache.credentials_of(Mechanism.SHA_512)
