"""The Java classes of SASL plug-ins that stand for something here; security_values.py has all that Kafka brings.

Role        Pure.
Source      SaslChannelBuilder, LoginManager in Kafka 3.9.
"""

from __future__ import annotations

from typing import Final

_COMMON: Final = "org.apache.kafka.common.security"

LOGIN_HANDLER_KEY: Final = "sasl.login.callback.handler.class"
LOGIN_CLASS_KEY: Final = "sasl.login.class"
"""Brokers read both behind the prefix of a listener and a mechanism only."""

UNSECURED_VALIDATOR: Final = f"{_COMMON}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
SIGNED_VALIDATORS: Final = (
    f"{_COMMON}.oauthbearer.OAuthBearerValidatorCallbackHandler",
    f"{_COMMON}.oauthbearer.secured.OAuthBearerValidatorCallbackHandler",
)
DEFAULT_SERVER: Final = f"{_COMMON}.authenticator.SaslServerCallbackHandler"
PLAIN_SERVER: Final = f"{_COMMON}.plain.internals.PlainServerCallbackHandler"
SCRAM_SERVER: Final = f"{_COMMON}.scram.internals.ScramServerCallbackHandler"

TOKEN_LOGINS: Final = (
    f"{_COMMON}.oauthbearer.OAuthBearerLoginCallbackHandler",
    f"{_COMMON}.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
)
"""These ask for tokens."""
UNSECURED_LOGIN: Final = f"{_COMMON}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
DEFAULT_LOGIN: Final = f"{_COMMON}.authenticator.AbstractLogin$DefaultLoginCallbackHandler"
