"""Logins that go well, and every way in which one can fail: the rows of Kafka's table, and more."""

from __future__ import annotations

import struct
import time

from tests.interop.sasl.exchange import (
    Frame,
    Scram,
    authenticate,
    bearer,
    handshake,
    header,
    metadata,
    plain,
    unsecured_token,
    versions,
)

GOOD = plain("alice", "alice-secret")
RECEIVE_SIZE = 524288


def login(token: bytes, *more: Frame) -> list[Frame]:
    return [handshake("PLAIN"), authenticate(token), *more]


def raw(token: bytes, *more: Frame) -> list[Frame]:
    return [handshake("PLAIN", 0), token, *more]


def oauth(token: bytes, *more: Frame) -> list[Frame]:
    return [handshake("OAUTHBEARER"), authenticate(token), *more]


def oauth_token(**claims: object) -> str:
    return unsecured_token(time.time(), **claims)


def scenarios() -> dict[str, list[Frame]]:
    """Made when they are run: the tokens among them live for an hour."""
    return {
        # --- frames and states ---
        "a good login": login(GOOD, metadata()),
        "a good login of version 0": [handshake("PLAIN"), authenticate(GOOD, 0), metadata()],
        "a good login of version 1": [handshake("PLAIN"), authenticate(GOOD, 1), metadata()],
        "a good raw login": raw(GOOD, metadata()),
        "versions first": [versions(), handshake("PLAIN"), authenticate(GOOD), metadata()],
        "versions of version 0 first": [versions(0), handshake("PLAIN"), authenticate(GOOD), metadata()],
        "an unknown version of versions": [versions(99), versions(0), handshake("PLAIN"), authenticate(GOOD)],
        "a bad software name": [versions(name="-bad-"), versions(), handshake("PLAIN"), authenticate(GOOD)],
        "versions twice": [versions(), versions()],
        "versions after a login": login(GOOD, versions()),
        "a negative size": [struct.pack(">i", -1)],
        "a request before the handshake": [metadata()],
        "a token before the handshake": [authenticate(GOOD)],
        "a request after versions": [versions(), metadata()],
        "no request at all": [b"\x60\x82\x01\x02"],
        "an unknown key": [struct.pack(">hhih", 999, 0, 1, 0)],
        "an unknown key after versions": [versions(), struct.pack(">hhih", 999, 0, 1, 0)],
        "an empty frame": [b""],
        "one byte": [b"\x00"],
        "handshake of version 2": [handshake("PLAIN", 2)],
        "a cut handshake": [header(17, 1) + b"\x00\x10PL"],
        "an unknown mechanism": [handshake("NONE")],
        "an empty mechanism": [handshake("")],
        "an unknown mechanism, raw": [handshake("NONE", 0)],
        "GSSAPI": [handshake("GSSAPI")],
        "a mechanism in lower case": [handshake("plain")],
        "two handshakes": [handshake("PLAIN"), handshake("PLAIN")],
        "versions after the handshake": [handshake("PLAIN"), versions(0)],
        "authenticate of version 3": [handshake("PLAIN"), header(36, 3) + b"\x01\x00"],
        "authenticate with a version below zero": [handshake("PLAIN"), header(36, -1) + b"\x00"],
        "a cut token request": [handshake("PLAIN"), header(36, 2) + b"\x7f"],
        "an unknown key after the handshake": [handshake("PLAIN"), struct.pack(">hhih", 999, 0, 1, 0)],
        "handshake after a login": login(GOOD, handshake("PLAIN"), metadata()),
        "a token after a login": login(GOOD, authenticate(GOOD), metadata()),
        "an old token request after a login": login(GOOD, authenticate(GOOD, 0), metadata()),
        # --- PLAIN ---
        "PLAIN: another password": login(plain("alice", "wrong")),
        "PLAIN: another password, version 0": [handshake("PLAIN"), authenticate(plain("alice", "wrong"), 0)],
        "PLAIN: another password, raw": raw(plain("alice", "wrong")),
        "PLAIN: an unknown user": login(plain("nobody", "x")),
        "PLAIN: no user": login(plain("", "x")),
        "PLAIN: no password": login(plain("alice", "")),
        "PLAIN: nothing": login(b""),
        "PLAIN: one part": login(b"alice"),
        "PLAIN: two parts": login(b"\0alice"),
        "PLAIN: four parts": login(b"\0alice\0alice-secret\0"),
        "PLAIN: five parts": login(b"\0a\0b\0c\0d"),
        "PLAIN: no UTF-8": login(b"\0\xff\xfe\0\xff"),
        "PLAIN: the own authorization id": login(plain("alice", "alice-secret", "alice"), metadata()),
        "PLAIN: a foreign authorization id": login(plain("alice", "alice-secret", "bob")),
        "PLAIN: the broker's own login is no user": login(plain("broker", "broker-secret")),
        # --- SCRAM ---
        "SCRAM": [*Scram().frames(), metadata()],
        "SCRAM, raw": [*Scram().raw_frames(), metadata()],
        "SCRAM with SHA-512": [*Scram(hash_name="sha512").frames("SCRAM-SHA-512"), metadata()],
        "SCRAM: another password": Scram(password="wrong").frames(),
        "SCRAM: an unknown user": Scram(user="nobody").frames()[:2],
        "SCRAM: a name with an equals sign and a comma": [*Scram(user="a=2Cb=3Dc").frames(), metadata()],
        "SCRAM: a bad escape": Scram(user="a=41").frames()[:2],
        "SCRAM: the nonce doubled": [*Scram(in_front_of_the_nonce="clientnonce").frames(), metadata()],
        "SCRAM: another nonce": Scram(wrong_nonce=True).frames(),
        "SCRAM: unknown extensions": [*Scram(extensions=",foo=bar").frames(), metadata()],
        "SCRAM: tokenauth false": [*Scram(extensions=",tokenauth=false").frames(), metadata()],
        "SCRAM: an unknown token": Scram(extensions=",tokenauth=true").frames()[:2],
        "SCRAM: the own authorization id": [*Scram(gs2="n,a=alice,").frames(), metadata()],
        "SCRAM: a foreign authorization id": Scram(gs2="n,a=bob,").frames()[:2],
        "SCRAM: another channel binding": [*Scram(gs2="n,a=alice,", channel="biws").frames(), metadata()],
        "SCRAM: flag y": Scram(gs2="y,,").frames()[:2],
        "SCRAM: nothing": [handshake("SCRAM-SHA-256"), authenticate(b"")],
        "SCRAM: garbage at last": [*Scram().frames()[:2], authenticate(b"garbage")],
        "SCRAM: the credential of the other mechanism": [*Scram(user="only512").frames()[:2]],
        "SCRAM: 4095 iterations": Scram(user="few").frames()[:2],
        "SCRAM: 20000 iterations": [*Scram(user="many").frames(), metadata()],
        # --- OAUTHBEARER ---
        "OAUTHBEARER": oauth(bearer(oauth_token()), ),
        "OAUTHBEARER: a lower-case scheme": oauth(bearer(oauth_token(), scheme="bearer")),
        "OAUTHBEARER: extensions": oauth(bearer(oauth_token(), more="traceId=123\x01")),
        "OAUTHBEARER: the own authorization id": oauth(bearer(oauth_token(), authorization_id="alice")),
        "OAUTHBEARER: a foreign authorization id": oauth(bearer(oauth_token(), authorization_id="bob")),
        "OAUTHBEARER: expired": oauth(bearer(oauth_token(exp=-10)), authenticate(b"\x01")),
        "OAUTHBEARER: expired, then good": oauth(bearer(oauth_token(exp=-10)), authenticate(bearer(oauth_token()))),
        "OAUTHBEARER: issued tomorrow": oauth(bearer(oauth_token(iat=86400, exp=90000)), authenticate(b"\x01")),
        "OAUTHBEARER: no end": oauth(bearer(oauth_token(exp=None)), authenticate(b"\x01")),
        "OAUTHBEARER: no subject": oauth(bearer(oauth_token(sub=None)), authenticate(b"\x01")),
        "OAUTHBEARER: an algorithm": oauth(bearer("eyJhbGciOiJIUzI1NiJ9.e30.c2ln"), authenticate(b"\x01")),
        "OAUTHBEARER: no token of ours": oauth(bearer("abc"), authenticate(b"\x01")),
        "OAUTHBEARER: control A at first": oauth(b"\x01"),
        "OAUTHBEARER: garbage": oauth(b"garbage"),
        "OAUTHBEARER: no auth": oauth(b"n,,\x01key=value\x01\x01"),
        "OAUTHBEARER, raw: expired": [
            handshake("OAUTHBEARER", 0), bearer(oauth_token(exp=-10)), b"\x01",
        ],
    }  # fmt: skip


SHORT_MECHANISM = "SCRAM-SHA-512"
SHORT_MS = 2000
"""A session of this mechanism ends so soon."""


def short(**changes: str) -> list[Frame]:
    return Scram(hash_name="sha512", **changes).frames(SHORT_MECHANISM)  # type: ignore[arg-type]


def short_raw() -> list[Frame]:
    return Scram(hash_name="sha512").raw_frames(SHORT_MECHANISM)


AGAIN: dict[str, list[Frame]] = {
    "again at once": [*short(), metadata(), *short(), metadata()],
    "again, raw": [*short_raw(), metadata(), *short_raw(), metadata()],
    "again within a second": [*short(), *short(), handshake(SHORT_MECHANISM), metadata()],
    "again after a second": [*short(), *short(), 1.1, *short(), metadata()],
    "again after the end": [*short(), 2.3, *short(), metadata()],
    "a request after the end": [*short(), 2.3, metadata()],
    "a request after the end, raw": [*short_raw(), metadata(), 2.3, metadata()],
    "within a second, after the end": [*short(), 1.6, handshake(SHORT_MECHANISM), 0.7, handshake(SHORT_MECHANISM)],
    "again, then nothing": [*short(), handshake(SHORT_MECHANISM), 2.3, *short()[1:], metadata()],
    "again: another mechanism": [*short(), handshake("PLAIN"), authenticate(GOOD)],
    "again: no mechanism": [*short(), handshake("NONE")],
    "again: another user": [*short(), *short(user="many")],
    "again: another password": [*short(), *short(password="wrong")],
    "again: an unknown user": [*short(), *short(user="nobody")[:2]],
    "again: versions": [*short(), handshake(SHORT_MECHANISM), versions(0)],
    "again: a second handshake": [*short(), handshake(SHORT_MECHANISM), handshake(SHORT_MECHANISM)],
    "again: a cut handshake": [*short(), header(17, 1) + b"\x00\x10PL"],
    "again: a handshake of version 2": [*short(), handshake(SHORT_MECHANISM, 2)],
    "a token that expires": [
        handshake("OAUTHBEARER"),
        lambda _: authenticate(bearer(oauth_token(exp=1))),
        1.3,
        metadata(),
    ],
    "versions after the end": [*short(), 2.3, versions()],
}


def otherwise() -> dict[str, list[Frame]]:
    """Where ours differs on purpose: see docs/compat.md."""
    return {
        "a request after the handshake": [handshake("PLAIN"), metadata()],
        "SCRAM: a short proof": Scram(proof_bytes=8).frames(),
        "SCRAM: an empty proof": Scram(proof_bytes=0).frames(),
        "SCRAM, raw: another password": Scram(password="wrong").raw_frames(),
        "SCRAM, raw: an unknown user": Scram(user="nobody").raw_frames()[:2],
        "SCRAM: m=": Scram(reserved="m=x,").frames(),
        "SCRAM: extensions at last": Scram(final_extensions=",foo=bar").frames(),
        "SCRAM: two extensions": Scram(extensions=",foo=bar,x=y").frames(),
        "OAUTHBEARER: another scheme": oauth(bearer(oauth_token(), scheme="Basic")),
        "OAUTHBEARER, raw: garbage": [handshake("OAUTHBEARER", 0), b"garbage"],
        "OAUTHBEARER: refused for ever": oauth(*[bearer(oauth_token(exp=-10))], *[
            authenticate(bearer(oauth_token(exp=-10))) for _ in range(5)
        ]),
    }  # fmt: skip


LARGE: dict[str, list[Frame]] = {
    "the largest frame before a login": [handshake("PLAIN") + bytes(RECEIVE_SIZE - len(handshake("PLAIN")))],
    "one byte more": [handshake("PLAIN") + bytes(RECEIVE_SIZE + 1 - len(handshake("PLAIN")))],
    "the largest token": login(b"x" * (RECEIVE_SIZE - 100)),
    "a larger frame after a login": login(GOOD, metadata() + bytes(RECEIVE_SIZE)),
}
