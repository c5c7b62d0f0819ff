"""The validator of tokens without a signature: for tests, and only where the configuration names it.

Role        Pure; the time is given.
Invariants  The algorithm is "none" and the signature empty: a signed token is refused, for nobody would check it.
Source      OAuthBearerUnsecuredValidatorCallbackHandler, OAuthBearerUnsecuredJws, OAuthBearerValidationUtils.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kafka_zk.sasl.server.claims import Claims, mapping_of, required_time_of, sections_of, time_of
from kafka_zk.sasl.server.oauthbearer import TokenRefused, ValidatedToken


class BadOption(ValueError):
    """An option of the login module that cannot be read."""


@dataclass(frozen=True, slots=True)
class UnsecuredRules:
    """What the options of the login module demand; `clock_skew_ms`: how far clocks may differ."""

    principal_claim: str = "sub"
    scope_claim: str = "scope"
    required_scopes: tuple[str, ...] = ()
    clock_skew_ms: int = 0

    @classmethod
    def of(cls, options: Mapping[str, str]) -> UnsecuredRules:
        """Raises BadOption."""

        def option(name: str, default: str) -> str:
            return options.get(f"unsecuredValidator{name}", "").strip() or default

        try:
            skew_ms = int(option("AllowableClockSkewMs", "0"))
        except ValueError:
            skew_ms = -1
        if skew_ms < 0:
            raise BadOption(
                "Allowable clock skew (unsecuredValidatorAllowableClockSkewMs) must be a number, not negative"
            )
        return cls(
            option("PrincipalClaimName", "sub"),
            option("ScopeClaimName", "scope"),
            tuple(option("RequiredScope", "").split()),
            skew_ms,
        )


class UnsecuredTokens:
    """Judges tokens without a signature. `now_ms()`: wall clock."""

    def __init__(self, rules: UnsecuredRules, now_ms: Callable[[], int]) -> None:
        self._rules = rules
        self._now_ms = now_ms

    def validate(self, token: str) -> ValidatedToken:
        """Raises TokenRefused."""
        header_text, claims_text, signature = sections_of(token)
        if mapping_of(header_text, "header").get("alg") != "none":
            raise TokenRefused("Unsecured JWS must have 'none' for an algorithm")
        if signature:
            raise TokenRefused("Unsecured JWS must not contain a digital signature")
        claims = mapping_of(claims_text, "claims")
        principal = claims.get(self._rules.principal_claim)
        if not isinstance(principal, str) or not principal.strip():
            raise TokenRefused(f"No principal name in JWT claim: {self._rules.principal_claim}")
        expires_s = self._check_times(claims)
        self._check_scopes(claims)
        return ValidatedToken(principal, round(expires_s * 1000))

    def _check_times(self, claims: Claims) -> float:
        now_ms, skew_ms = self._now_ms(), self._rules.clock_skew_ms
        issued_s, expires_s = time_of(claims, "iat", required=False), required_time_of(claims, "exp")
        if issued_s is not None and issued_s * 1000 > now_ms + skew_ms:
            raise TokenRefused("The Issued At value was after the indicated time plus allowable clock skew")
        if expires_s * 1000 <= now_ms - skew_ms:
            raise TokenRefused(
                "The indicated time minus allowable clock skew was on or after the Expiration Time value"
            )
        if issued_s is not None and expires_s <= issued_s:
            raise TokenRefused("The Expiration Time was not after the Issued At time")
        return expires_s

    def _check_scopes(self, claims: Claims) -> None:
        required = self._rules.required_scopes
        if not required:
            return
        value = claims.get(self._rules.scope_claim)
        # A text is one scope, in Kafka too.
        found = [value.strip()] if isinstance(value, str) else value if isinstance(value, list) else []
        if any(scope not in found for scope in required):
            raise TokenRefused("The provided scope was missing a required scope", required)
