"""OAUTHBEARER with tokens of a token endpoint or a file: what OAuthBearerLoginCallbackHandler does in Java.

Role        Reads the configuration once for each client, and fetches the first token. The client's connections share
            the token and its renewal.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_zk.client.config import ClientConfig
from kafka_zk.config.errors import ConfigException
from kafka_zk.sasl.client.exchange import Exchange, ExchangeFailed
from kafka_zk.sasl.client.logins import NewExchange
from kafka_zk.sasl.client.oauthbearer import OAuthBearerClient
from kafka_zk.sasl.client.token_settings import token_settings
from kafka_zk.sasl.client.token_source import TokenSource, TokenUnavailable


def token_login(config: ClientConfig, options: Mapping[str, str]) -> NewExchange:
    """What logs connections in with the current token. Blocks for the first one. Raises ConfigException."""
    settings = token_settings(config.raw, options)
    source = TokenSource(settings.ask, settings.read, settings.rules)
    try:
        source.start()
    except TokenUnavailable as error:
        raise ConfigException(f"An access token for OAUTHBEARER could not be had: {error}") from None

    def exchange() -> Exchange:
        try:
            return OAuthBearerClient(source.token(), settings.extensions)
        except TokenUnavailable as error:
            raise ExchangeFailed(str(error)) from None

    return exchange
