"""The SASL login of a client's connections, from its configuration.

Role        Made once for each client: reads sasl.jaas.config or the JAAS file. `SaslLogin` is one connection's login.
Source      SaslChannelBuilder, LoginManager, SaslClientAuthenticator, KafkaChannel.maybeBeginClientReauthentication.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kafka_zk.client.config import ClientConfig
from kafka_zk.client.errors import (
    AuthenticationException,
    IllegalSaslStateException,
    KafkaException,
    SaslAuthenticationException,
    UnsupportedSaslMechanismException,
    UnsupportedSecurity,
)
from kafka_zk.config.errors import ConfigException, invalid_value
from kafka_zk.config.sasl_classes import DEFAULT_LOGIN, TOKEN_LOGINS, UNSECURED_LOGIN
from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.types import Buffer
from kafka_zk.sasl.client.login import (
    AuthenticationFailed,
    Login,
    LoginFailed,
    LoginInterrupted,
    MechanismNotEnabled,
    OutOfPlace,
)
from kafka_zk.sasl.client.logins import MECHANISMS, LoginError, NewExchange, check_module, new_exchange
from kafka_zk.sasl.jaas import OAUTHBEARER, JaasError, LoginModule, check_allowed, single_module
from kafka_zk.sasl.jaas_file import file_sections

SECTION: Final = "KafkaClient"
_LOGIN_HANDLER: Final = "sasl.login.callback.handler.class"
_COMMON: Final = "org.apache.kafka.common.security"
_CLASSES: Final[Mapping[str, tuple[str, ...]]] = {
    "sasl.client.callback.handler.class": (
        f"{_COMMON}.authenticator.SaslClientCallbackHandler",
        f"{_COMMON}.oauthbearer.internals.OAuthBearerSaslClientCallbackHandler",
    ),
    _LOGIN_HANDLER: (
        DEFAULT_LOGIN,
        UNSECURED_LOGIN,
        *TOKEN_LOGINS,
    ),
    "sasl.login.class": (),
}
"""The classes that mean something here: those that Kafka takes without being asked, and the one that fetches tokens."""
_ERRORS: Final[Mapping[type[LoginFailed], type[AuthenticationException]]] = {
    AuthenticationFailed: SaslAuthenticationException,
    MechanismNotEnabled: UnsupportedSaslMechanismException,
    OutOfPlace: IllegalSaslStateException,
}


class SaslLogin:
    """One connection's login; see `security.Login`."""

    def __init__(self, new: NewExchange, client_id: str, again_with: Login | None = None) -> None:
        self._new = new
        self._client_id = client_id
        try:
            self._login = Login(new, client_id, again_with=again_with)
        except LoginFailed as error:
            raise _translated(error) from error
        self.renew_at_s = math.inf
        self.renew_from_s = 0.0

    def begin(self) -> Sequence[bytes]:
        return [self._login.begin()]

    def take(self, frame: Buffer) -> Sequence[bytes]:
        try:
            answer = self._login.received(frame)
        except LoginFailed as error:
            raise _translated(error) from error
        except LoginInterrupted as error:
            raise KafkaException(str(error)) from error
        except DecodeError as error:
            raise KafkaException(f"Error reading response: {error}") from error
        if self._login.is_complete:
            after_ms = self._login.renewal_after_ms(random.random())
            self.renew_at_s = math.inf if after_ms is None else time.monotonic() + after_ms / 1000
            self.renew_from_s = time.monotonic() + self._login.renewal_pause_ms / 1000
        return [] if answer is None else [answer]

    @property
    def is_complete(self) -> bool:
        return self._login.is_complete

    def again(self) -> SaslLogin:
        return SaslLogin(self._new, self._client_id, self._login)


def login_of(config: ClientConfig, client_id: str) -> Callable[[str], SaslLogin]:
    """What begins the login of a connection to a host. Blocks for the JAAS file.

    Raises ConfigException, UnsupportedSecurity for what only Java has.
    """
    for key, known in _CLASSES.items():
        if config.raw(key) not in (None, *known):
            raise invalid_value(key, config.raw(key), f"Class {config.raw(key)} could not be found.")
    mechanism = config.text("sasl.mechanism")
    if mechanism not in MECHANISMS:
        raise UnsupportedSecurity(
            f"sasl.mechanism={mechanism} cannot be used: this client has {', '.join(MECHANISMS)}."
        )
    try:
        new = _new_exchange(config, mechanism)
    except (JaasError, LoginError) as error:
        raise ConfigException(str(error)) from None
    return lambda host: SaslLogin(new(host), client_id)


def _new_exchange(config: ClientConfig, mechanism: str) -> Callable[[str], NewExchange]:
    """By the host of a connection. Blocks."""
    module = _module(config)
    check_module(mechanism, module)
    if mechanism == "GSSAPI":
        # Imported here: only these logins need a Kerberos library.
        from kafka_zk.client.network.kerberos_login import kerberos_login

        return kerberos_login(config, module.options)
    new = _new_exchange_anywhere(config, mechanism, module)
    return lambda host: new


def _new_exchange_anywhere(config: ClientConfig, mechanism: str, module: LoginModule) -> NewExchange:
    if config.raw(_LOGIN_HANDLER) not in TOKEN_LOGINS:
        return new_exchange(mechanism, module, time.time)
    if mechanism != "OAUTHBEARER" or module.name != OAUTHBEARER:
        raise LoginError(f"Unexpected SASL mechanism: {mechanism}: {_LOGIN_HANDLER} is one of OAUTHBEARER")
    # Imported here: only these logins need an HTTP client.
    from kafka_zk.client.network.token_login import token_login

    return token_login(config, module.options)


def _module(config: ClientConfig) -> LoginModule:
    """Of sasl.jaas.config, else the first one of the file's section KafkaClient. Raises JaasError."""
    given = config.raw("sasl.jaas.config")
    if given is not None:
        return single_module(str(given))
    sections = file_sections(os.environ)
    if sections is None or SECTION not in sections:
        named = "is not set" if sections is None else "names a file without it"
        raise JaasError(
            f"Could not find a '{SECTION}' entry in the JAAS configuration. System property "
            f"'java.security.auth.login.config' {named}"
        )
    module = sections[SECTION][0]
    check_allowed(module)
    return module


def _translated(error: LoginFailed) -> AuthenticationException:
    return _ERRORS[type(error)](str(error))
