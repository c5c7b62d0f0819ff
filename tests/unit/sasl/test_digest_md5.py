"""DIGEST-MD5 with the example of RFC 2831, and with servers that break its rules."""

from __future__ import annotations

import pytest

from kafka_zk.sasl.client.digest_md5 import DigestMd5Client
from kafka_zk.sasl.client.exchange import ExchangeFailed

CHALLENGE = b'realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8'


def chris(password: str = "secret") -> DigestMd5Client:
    return DigestMd5Client("chris", password, uri="imap/elwood.innosoft.com", cnonce="OA6MHXh6VqTrRk")


def test_the_example_of_the_rfc_is_answered_as_there() -> None:
    client = chris()
    assert client.first() == b""
    answer = client.next(CHALLENGE)
    assert answer is not None
    assert b"response=d388dad90d4bbd760a152321f2143af7" in answer
    assert b'username="chris"' in answer
    assert not client.is_complete
    assert client.next(b"rspauth=ea40f60335c427b5527b84dbabcdfffd") is None
    assert client.is_complete


@pytest.mark.parametrize("proof", [b"rspauth=ea40f60335c427b5527b84dbabcdfffe", b"rspauth=", b"", b"x=y"])
def test_a_server_that_does_not_know_the_password_is_not_believed(proof: bytes) -> None:
    client = chris()
    client.next(CHALLENGE)
    with pytest.raises(ExchangeFailed, match="does not know the password"):
        client.next(proof)
    assert not client.is_complete


@pytest.mark.parametrize(
    "challenge",
    [
        b"",
        b"\xff",
        b"nonce",
        b'nonce="a"',
        b"algorithm=md5-sess",
        b'nonce="a",algorithm=md5',
        b'nonce="a,algorithm=md5-sess',
    ],
)
def test_what_is_no_challenge_is_refused(challenge: bytes) -> None:
    with pytest.raises(ExchangeFailed, match="not one of DIGEST-MD5"):
        chris().next(challenge)


def test_a_server_that_demands_encryption_is_refused() -> None:
    with pytest.raises(ExchangeFailed, match="protect the connection"):
        chris().next(CHALLENGE.replace(b'"auth"', b'"auth-conf"'))


def test_quotes_and_backslashes_are_escaped_and_no_message_has_the_password() -> None:
    client = DigestMd5Client('a"b\\c', "pass-Word")
    answer = client.next(CHALLENGE)
    assert answer is not None
    assert b'username="a\\"b\\\\c"' in answer
    assert b"pass-Word" not in answer


def test_two_logins_have_different_nonces() -> None:
    assert DigestMd5Client("a", "b").next(CHALLENGE) != DigestMd5Client("a", "b").next(CHALLENGE)
