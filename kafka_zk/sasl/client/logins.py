"""From a mechanism and a JAAS module to the logins of connections.

Role        Pure but for the clock of unsecured tokens, which is a parameter.
Source      LoginManager, SaslClientCallbackHandler and OAuthBearerUnsecuredLoginCallbackHandler in Kafka 3.9.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Final

from kafka_zk.sasl.client.exchange import Exchange, ExchangeFailed
from kafka_zk.sasl.client.oauthbearer import OAuthBearerClient, check_extensions
from kafka_zk.sasl.client.plain import PlainClient
from kafka_zk.sasl.client.scram import TOKEN_AUTH, ScramClient
from kafka_zk.sasl.jaas import KERBEROS, OAUTHBEARER, PLAIN, SCRAM, LoginModule
from kafka_zk.sasl.scram_credentials import BY_KEY

MODULES: Final = {
    "PLAIN": PLAIN,
    "OAUTHBEARER": OAUTHBEARER,
    "GSSAPI": KERBEROS,
    **dict.fromkeys(BY_KEY, SCRAM),
}
"""The login module of each mechanism."""

MECHANISMS: Final = tuple(MODULES)

_LIFETIME_S: Final = 3600
_EXTENSION: Final = "unsecuredLoginExtension_"


class LoginError(ValueError):
    """A login that cannot be made of its configuration. The message has no secret."""


NewExchange = Callable[[], Exchange]
"""One login a connection: makes the exchange of the next one. Raises ExchangeFailed."""


def check_module(mechanism: str, module: LoginModule) -> None:
    """Raise LoginError unless `module` is the one of `mechanism`."""
    wanted = MODULES.get(mechanism)
    if wanted is None:
        raise LoginError(f"Failed to create SaslClient with mechanism {mechanism}")
    if module.name != wanted:
        raise LoginError(f"The JAAS configuration has {module.name}, where {mechanism} needs {wanted}")


def new_exchange(mechanism: str, module: LoginModule, wall_s: Callable[[], float]) -> NewExchange:
    """What logs connections in with `mechanism` as `module` says; not for GSSAPI, which needs to know the host.

    Raises LoginError.
    """
    check_module(mechanism, module)
    if mechanism == "OAUTHBEARER":
        return _unsecured(module.options, wall_s)
    username, password = _name_and_password(module.options)
    if mechanism == "PLAIN":
        return lambda: PlainClient(username, password)
    extensions = {TOKEN_AUTH: "true"} if module.options.get(TOKEN_AUTH, "").lower() == "true" else None
    return lambda: ScramClient(mechanism, username, password, extensions)


def _name_and_password(options: Mapping[str, str]) -> tuple[str, str]:
    found = []
    for key in ("username", "password"):
        if key not in options:
            raise LoginError(f"The JAAS configuration of this login has no option {key}")
        try:
            options[key].encode()
        except UnicodeEncodeError:
            raise LoginError(f"The option {key} of the JAAS configuration cannot be written as UTF-8") from None
        if "\0" in options[key]:
            raise LoginError(f"The option {key} of the JAAS configuration has a null character")
        found.append(options[key])
    return found[0], found[1]


def _unsecured(options: Mapping[str, str], wall_s: Callable[[], float]) -> NewExchange:
    """Unsecured JSON web tokens from options: what Kafka makes where no callback handler is configured."""
    extensions = {key[len(_EXTENSION) :]: value for key, value in options.items() if key.startswith(_EXTENSION)}
    try:
        check_extensions(extensions)
    except ExchangeFailed as error:
        raise LoginError(str(error)) from None
    principal_claim = options.get("unsecuredLoginPrincipalClaimName", "sub")
    scope_claim = options.get("unsecuredLoginScopeClaimName", "scope")
    try:
        lifetime_s = int(options.get("unsecuredLoginLifetimeSeconds", _LIFETIME_S))
        claims = {**_claims(options, "String", str), **_claims(options, "Number", float)}
    except ValueError:
        raise LoginError("An option of the JAAS configuration that must be a number is none") from None
    claims.update(_claims(options, "List", _list_claim))
    if not isinstance(claims.get(principal_claim), str) or not str(claims[principal_claim]).strip():
        raise LoginError(f"OAUTHBEARER needs a claim {principal_claim}: unsecuredLoginStringClaim_{principal_claim}")
    if scope_claim in claims and not isinstance(claims[scope_claim], str | list):
        raise LoginError(f"The claim {scope_claim} must be a text or a list")

    def exchange() -> Exchange:
        # In whole milliseconds, as brokers count: a token must not be of the next one.
        now_s = int(wall_s() * 1000) / 1000
        return OAuthBearerClient(_token({"iat": now_s, "exp": now_s + lifetime_s, **claims}), extensions)

    return exchange


def _claims(
    options: Mapping[str, str], kind: str, read: Callable[[str], str | float | list[str]]
) -> dict[str, str | float | list[str]]:
    prefix = f"unsecuredLogin{kind}Claim_"
    return {key[len(prefix) :]: read(value) for key, value in options.items() if key.startswith(prefix)}


def _list_claim(value: str) -> list[str]:
    """The first character separates the values of the list, and repeated at the end an empty value."""
    return value[1:].split(value[0]) if value else []


def _token(claims: Mapping[str, str | float | list[str]]) -> str:
    header, payload = (
        _base64url(json.dumps(part, separators=(",", ":")).encode()) for part in ({"alg": "none"}, claims)
    )
    return f"{header}.{payload}."


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
