"""Which tokens of OAUTHBEARER are accepted: unsecured ones, and those signed with a key of their issuer."""

from __future__ import annotations

import base64
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from kafka_zk.sasl.server.claims import MAX_TOKEN_CHARS
from kafka_zk.sasl.server.oauthbearer import TokenRefused, ValidatedToken
from kafka_zk.sasl.server.signed_token import SignedTokens
from kafka_zk.sasl.server.signing_keys import BadKeySet, SigningKeys, signing_keys
from kafka_zk.sasl.server.unsecured_token import BadOption, UnsecuredRules, UnsecuredTokens
from tests.interop.sasl.exchange import unsecured_token

NOW_S = 1_800_000_000
RSA = rsa.generate_private_key(65537, 2048)
OTHER_RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())


def jwk(key: Any, kid: str, **more: str) -> dict[str, Any]:
    is_ec = isinstance(key, ec.EllipticCurvePrivateKey)
    algorithm = jwt.algorithms.ECAlgorithm if is_ec else jwt.algorithms.RSAAlgorithm
    return {**json.loads(algorithm.to_jwk(key.public_key())), "kid": kid, **more}


def key_set(*entries: dict[str, Any]) -> SigningKeys:
    return signing_keys(json.dumps({"keys": list(entries)}).encode())


KEYS = key_set(jwk(RSA, "rsa", alg="RS256"), jwk(EC, "ec"), jwk(RSA, "any"))


def token(key: Any = RSA, kid: str | None = "rsa", alg: str = "RS256", **claims: object) -> str:
    body = {"sub": "alice", "exp": NOW_S + 3600, "iat": NOW_S - 1, **claims}
    return jwt.encode(
        {name: value for name, value in body.items() if value is not None},
        key,
        alg,
        headers={} if kid is None else {"kid": kid},
    )


def validator(**rules: Any) -> SignedTokens:
    return SignedTokens(lambda kid: KEYS.get(kid, ()), lambda: NOW_S * 1000, **rules)


def is_good(text: str, **rules: Any) -> bool:
    try:
        validated = validator(**rules).validate(text)
    except TokenRefused as refused:
        assert not text or text not in str(refused)
        return False
    assert validated.principal_name == "alice"
    return True


# --- signed --------------------------------------------------------------------------------------------------------


def test_a_signed_token_names_the_user_and_its_end() -> None:
    assert validator().validate(token()) == ValidatedToken("alice", (NOW_S + 3600) * 1000)
    assert is_good(token(EC, "ec", "ES256"))
    assert is_good(token(RSA, "any", "PS512"))


@pytest.mark.parametrize(
    "text",
    [
        token(OTHER_RSA),
        token(kid=None),
        token(kid="unknown"),
        token(alg="RS512"),
        token(EC, "rsa", "ES256"),
        jwt.encode({"sub": "alice"}, None, "none", headers={"kid": "rsa"}),
        "",
        "a.b",
        "a.b.c",
        "a.b.c.d",
        token() + "x",
        "x" * (MAX_TOKEN_CHARS + 1),
    ],
)
def test_a_token_without_a_signature_of_its_issuer_is_refused(text: str) -> None:
    """(security 12.24)"""
    assert not is_good(text)


def test_the_public_key_is_no_secret_of_an_hmac() -> None:
    """The classic confusion of algorithms. (security 12.24)"""
    import hashlib
    import hmac

    pem = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head, body = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")
        for part in ({"alg": "HS256", "kid": "rsa"}, {"sub": "alice", "exp": NOW_S + 60, "iat": NOW_S})
    )
    mac = base64.urlsafe_b64encode(hmac.digest(pem, head + b"." + body, hashlib.sha256)).rstrip(b"=")
    assert not is_good(b".".join([head, body, mac]).decode())


def test_each_flipped_bit_of_a_token_refuses_it() -> None:
    text = token()
    head, body, signature = text.split(".")
    raw = bytearray(base64.urlsafe_b64decode(signature + "=="))
    for bit in range(0, len(raw) * 8, 37):
        raw[bit // 8] ^= 1 << bit % 8
        flipped = base64.urlsafe_b64encode(bytes(raw)).decode().rstrip("=")
        assert not is_good(f"{head}.{body}.{flipped}")
        raw[bit // 8] ^= 1 << bit % 8


@pytest.mark.parametrize(
    ("claims", "good"),
    [
        ({"exp": None}, False),
        ({"iat": None}, False),
        ({"exp": NOW_S - 29, "iat": NOW_S - 60}, True),
        ({"exp": NOW_S - 30, "iat": NOW_S - 60}, False),
        ({"nbf": NOW_S + 30}, True),
        ({"nbf": NOW_S + 31}, False),
        ({"exp": "soon"}, False),
        ({"exp": True}, False),
        ({"exp": 1e300}, False),
        ({"sub": None}, False),
        ({"sub": "  "}, False),
        ({"sub": " alice "}, True),
        ({"scope": "a b"}, True),
        ({"scope": ["a", "b"]}, True),
        ({"scope": ["a", "a"]}, False),
        ({"scope": ["a", 1]}, False),
        ({"scope": ""}, False),
        ({"aud": "kafka"}, False),
        ({"aud": []}, True),
    ],
)
def test_the_claims_are_those_kafka_wants(claims: dict[str, object], good: bool) -> None:
    """(security 12.24: the rule of audiences, the edge of the skew)"""
    assert is_good(token(**claims)) is good


@pytest.mark.parametrize(
    ("aud", "good"), [(None, False), ("kafka", True), (["x", "kafka"], True), ("x", False), (["x"], False)]
)
def test_where_audiences_are_expected_one_of_them_must_be_there(aud: object, good: bool) -> None:
    """(security 12.24)"""
    assert is_good(token(aud=aud), expected_audiences=["kafka", "other"]) is good


def test_an_expected_issuer_must_be_exactly_that() -> None:
    assert is_good(token(iss="https://i"), expected_issuer="https://i")
    assert not is_good(token(iss="https://i/"), expected_issuer="https://i")
    assert not is_good(token(), expected_issuer="https://i")


# --- keys ----------------------------------------------------------------------------------------------------------


def test_a_key_set_keeps_the_keys_it_can_use() -> None:
    keys = key_set(
        jwk(RSA, "named", alg="RS384"),
        jwk(RSA, "for encryption", use="enc"),
        {**jwk(RSA, "x"), "kid": 7},
        {"kty": "oct", "k": "c2VjcmV0", "kid": "secret", "alg": "HS256"},
        {"kty": "RSA", "kid": "broken", "n": "!", "e": "AQAB"},
        jwk(RSA, "none", alg="none"),
        jwk(RSA, "hmac", alg="HS256"),
    )
    assert {kid: [key.algorithms for key in found] for kid, found in keys.items()} == {"named": [("RS384",)]}


@pytest.mark.parametrize("text", [b"", b"[]", b'{"keys": 1}', b"\xff", b"secret text", b"[" * 100_000])
def test_what_is_no_key_set_is_refused_without_showing_it(text: bytes) -> None:
    with pytest.raises(BadKeySet) as error:
        signing_keys(text)
    assert "secret" not in str(error.value)


# --- unsecured -----------------------------------------------------------------------------------------------------


def unsecured(text: str, **options: str) -> ValidatedToken | None:
    rules = UnsecuredRules.of({f"unsecuredValidator{name}": value for name, value in options.items()})
    try:
        return UnsecuredTokens(rules, lambda: NOW_S * 1000).validate(text)
    except TokenRefused:
        return None


def test_an_unsecured_token_needs_a_subject_and_an_end() -> None:
    assert unsecured(unsecured_token(NOW_S)) == ValidatedToken("alice", (NOW_S + 3600) * 1000)
    assert unsecured(unsecured_token(NOW_S, iat=None)) is not None
    assert unsecured(unsecured_token(NOW_S, exp=None)) is None
    assert unsecured(unsecured_token(NOW_S, sub=None)) is None
    assert unsecured(unsecured_token(NOW_S, sub=None, name="alice"), PrincipalClaimName="name") is not None
    assert unsecured(unsecured_token(NOW_S) + "signature") is None
    assert unsecured(token()) is None


def test_the_clocks_of_an_unsecured_token_may_differ_by_what_is_allowed() -> None:
    """(security 12.24)"""
    assert unsecured(unsecured_token(NOW_S, exp=0, iat=-9)) is None
    assert unsecured(unsecured_token(NOW_S, exp=-1, iat=-9), AllowableClockSkewMs="1001") is not None
    assert unsecured(unsecured_token(NOW_S, exp=-1, iat=-9), AllowableClockSkewMs="1000") is None
    assert unsecured(unsecured_token(NOW_S, iat=1)) is None
    assert unsecured(unsecured_token(NOW_S, iat=1), AllowableClockSkewMs="1000") is not None
    assert unsecured(unsecured_token(NOW_S, iat=-1, exp=-1), AllowableClockSkewMs="5000") is None


def test_required_scopes_must_be_there() -> None:
    assert unsecured(unsecured_token(NOW_S, scope=["a", "b"]), RequiredScope="a b") is not None
    assert unsecured(unsecured_token(NOW_S, scope="a"), RequiredScope="a b") is None
    assert unsecured(unsecured_token(NOW_S), RequiredScope="a") is None


@pytest.mark.parametrize("skew", ["-1", "soon"])
def test_a_skew_is_a_number(skew: str) -> None:
    with pytest.raises(BadOption):
        UnsecuredRules.of({"unsecuredValidatorAllowableClockSkewMs": skew})
