"""The validator of signed tokens.

Role        Pure: keys and time come from outside.
Invariants  The signature is checked with a key of the issuer's set, chosen by key id, and with the algorithms of that
            key; only then are the claims believed.
            A token made for an audience is refused unless that audience is expected.
Source      ValidatorAccessTokenValidator, OAuthBearerValidatorCallbackHandler in Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jwt

from kafka_zk.sasl.server.claims import Claims, mapping_of, name_of, required_time_of, sections_of, time_of
from kafka_zk.sasl.server.oauthbearer import TokenRefused, ValidatedToken
from kafka_zk.sasl.server.signing_keys import SigningKey

KeysOf = Callable[[str], Sequence[SigningKey]]
"""The keys with an id; none if it is unknown."""


class SignedTokens:
    """Judges signed tokens. `now_ms()`: wall clock. `expected_audiences` and `expected_issuer` are optional."""

    def __init__(
        self,
        keys_of: KeysOf,
        now_ms: Callable[[], int],
        *,
        expected_audiences: Sequence[str] = (),
        expected_issuer: str | None = None,
        clock_skew_s: int = 30,
        scope_claim: str = "scope",
        subject_claim: str = "sub",
    ) -> None:
        self._keys_of = keys_of
        self._now_ms = now_ms
        self._audiences = frozenset(expected_audiences)
        self._issuer = expected_issuer
        self._skew_s = clock_skew_s
        self._scope_claim = scope_claim
        self._subject_claim = subject_claim

    def validate(self, token: str) -> ValidatedToken:
        """Raises TokenRefused."""
        header_text, claims_text, signature = sections_of(token)
        header = mapping_of(header_text, "header")
        if not signature:
            raise TokenRefused("The token has no signature")
        self._check_signature(token, header)
        claims = mapping_of(claims_text, "claims")
        expires_s = self._check_times(claims)
        self._check_issuer(claims)
        self._check_audience(claims)
        self._check_scope(claims)
        return ValidatedToken(name_of(claims, self._subject_claim), round(expires_s * 1000))

    def _check_signature(self, token: str, header: Claims) -> None:
        algorithm, key_id = header.get("alg"), header.get("kid")
        if not isinstance(key_id, str):
            raise TokenRefused("The header of the token names no key (kid)")
        if not isinstance(algorithm, str) or "crit" in header:
            raise TokenRefused("The header of the token cannot be understood")
        fitting = [key for key in self._keys_of(key_id) if algorithm in key.algorithms]
        if not fitting:
            raise TokenRefused("The issuer has no such key, or one for another algorithm")
        for key in fitting:
            try:
                # Claims are checked below, by Kafka's rules.
                jwt.PyJWS(options={"verify_signature": True}).decode(token, key.key, algorithms=[algorithm])
                return
            except (jwt.exceptions.PyJWTError, ValueError):
                continue
        raise TokenRefused("The signature of the token is wrong")

    def _check_times(self, claims: Claims) -> float:
        now_s = self._now_ms() / 1000
        expires_s, issued_s = required_time_of(claims, "exp"), required_time_of(claims, "iat")
        not_before_s = time_of(claims, "nbf", required=False)
        if now_s - self._skew_s >= expires_s:
            raise TokenRefused("The token has expired")
        if not_before_s is not None and now_s + self._skew_s < not_before_s:
            raise TokenRefused("The token is not valid yet (nbf)")
        if expires_s < issued_s or (not_before_s is not None and expires_s < not_before_s):
            raise TokenRefused("The token expires before it was issued, or before it is valid")
        return expires_s

    def _check_issuer(self, claims: Claims) -> None:
        if self._issuer is not None and claims.get("iss") != self._issuer:
            raise TokenRefused("The token comes from another issuer than the expected one")

    def _check_audience(self, claims: Claims) -> None:
        value = claims.get("aud")
        found = [value] if isinstance(value, str) else value if isinstance(value, list) else None
        if value is not None and (found is None or not all(isinstance(each, str) for each in found)):
            raise TokenRefused("The audience of the token is none")
        if not self._audiences:
            if found:
                raise TokenRefused("The token is made for an audience, and none is expected here")
        elif not self._audiences.intersection(found or ()):
            raise TokenRefused("The token is made for another audience than those expected")

    def _check_scope(self, claims: Claims) -> None:
        value = claims.get(self._scope_claim)
        scopes = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        if not all(isinstance(scope, str) and scope.strip() for scope in scopes):
            raise TokenRefused(f"The claim {self._scope_claim} holds something that is no name of a scope")
        if len({scope.strip() for scope in scopes}) != len(scopes):
            raise TokenRefused(f"The claim {self._scope_claim} names a scope twice")
