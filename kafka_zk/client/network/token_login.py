"""OAUTHBEARER with tokens of a token endpoint or a file: what OAuthBearerLoginCallbackHandler does in Java.

Role        Reads the configuration once for each client, and fetches the first token. The client's connections share
            the token and its renewal.
Source      OAuthBearerLoginCallbackHandler, AccessTokenRetrieverFactory, JaasOptionsUtils, ConfigurationUtils.
"""

from __future__ import annotations

import os
import ssl
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from kafka_zk.client.config import ClientConfig
from kafka_zk.config.declaration import ConfigTable
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.java_options import system_properties
from kafka_zk.config.tables.client_security import SECURITY_KEYS
from kafka_zk.sasl.client.access_token import RefreshRules, access_token
from kafka_zk.sasl.client.exchange import Exchange, ExchangeFailed
from kafka_zk.sasl.client.logins import NewExchange
from kafka_zk.sasl.client.oauthbearer import OAuthBearerClient, check_extensions
from kafka_zk.sasl.client.token_source import (
    TIMEOUT_S,
    TokenEndpoint,
    TokenSource,
    TokenUnavailable,
    persistent,
    token_file,
)
from kafka_zk.sasl.oauth_urls import ALLOWED_URLS, check_url
from kafka_zk.tls.contexts import client_context
from kafka_zk.tls.settings import TlsSettings

_URL: Final = "sasl.oauthbearer.token.endpoint.url"
_EXTENSION: Final = "extension_"


def token_login(config: ClientConfig, options: Mapping[str, str]) -> NewExchange:
    """What logs connections in with the current token. Blocks for the first one. Raises ConfigException."""
    extensions = {name[len(_EXTENSION) :]: text for name, text in options.items() if name.startswith(_EXTENSION)}
    try:
        check_extensions(extensions)
    except ExchangeFailed as error:
        raise ConfigException(str(error)) from None
    source = TokenSource(
        _asker(config, options),
        partial(
            access_token,
            scope_claim=config.text("sasl.oauthbearer.scope.claim.name"),
            subject_claim=config.text("sasl.oauthbearer.sub.claim.name"),
        ),
        _refresh_rules(config),
    )
    try:
        source.start()
    except TokenUnavailable as error:
        raise ConfigException(f"An access token for OAUTHBEARER could not be had: {error}") from None

    def exchange() -> Exchange:
        try:
            return OAuthBearerClient(source.token(), extensions)
        except TokenUnavailable as error:
            raise ExchangeFailed(str(error)) from None

    return exchange


def _asker(config: ClientConfig, options: Mapping[str, str]) -> Callable[[], str]:
    url = config.raw(_URL)
    if url is None:
        raise ConfigException(f"The OAuth configuration option {_URL} value must be non-null")
    url = str(url).strip()
    if not url:
        raise ConfigException(f"The OAuth configuration option {_URL} value must not be empty")
    check_url(url, _URL, system_properties(os.environ).get(ALLOWED_URLS))
    if urllib.parse.urlsplit(url).scheme.lower() == "file":
        return partial(token_file, _file_of(url))
    endpoint = TokenEndpoint(
        url,
        _option(options, "clientId"),
        _option(options, "clientSecret"),
        options.get("scope"),
        config.boolean("sasl.oauthbearer.header.urlencode"),
        _timeout_s(config),
        _context(options) if url.lower().startswith("https:") else None,
    )
    backoff_ms, max_ms = (config.integer(f"sasl.login.retry.backoff.{name}") for name in ("ms", "max.ms"))
    return persistent(endpoint.ask, backoff_ms, max_ms)


def _file_of(url: str) -> Path:
    path = Path(urllib.request.url2pathname(urllib.parse.urlsplit(url).path))
    if not path.exists():
        raise ConfigException(f"The OAuth configuration option {_URL} contains a file ({path}) that doesn't exist")
    if path.is_dir():
        raise ConfigException(f"The OAuth configuration option {_URL} references a directory ({path}), not a file")
    if not os.access(path, os.R_OK):
        raise ConfigException(
            f"The OAuth configuration option {_URL} contains a file ({path}) that doesn't have read permission"
        )
    return path


def _option(options: Mapping[str, str], name: str) -> str:
    text = options.get(name)
    if text is None:
        raise ConfigException(f"The OAuth configuration option {name} value must be non-null")
    text = text.strip()
    if not text:
        raise ConfigException(f"The OAuth configuration option {name} value must not be empty")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigException(f"The OAuth configuration option {name} cannot be written as UTF-8") from None
    return text


def _timeout_s(config: ClientConfig) -> float:
    given = [config.raw(f"sasl.login.{name}.timeout.ms") for name in ("connect", "read")]
    return max((each / 1000 for each in given if isinstance(each, int) and each > 0), default=TIMEOUT_S)


def _context(options: Mapping[str, str]) -> ssl.SSLContext:
    """The endpoint has stores of its own, among the options of the login module. Blocks for them."""
    keys = ConfigTable(each for each in SECURITY_KEYS if each.name.startswith("ssl."))
    given = ClientConfig(keys, {name: text for name, text in options.items() if name in keys})
    return client_context(TlsSettings.of({name: given.raw(name) for name in keys}))


def _refresh_rules(config: ClientConfig) -> RefreshRules:
    factor, jitter, period, buffer = (
        config.raw(f"sasl.login.refresh.{name}")
        for name in ("window.factor", "window.jitter", "min.period.seconds", "buffer.seconds")
    )
    assert isinstance(factor, float | int) and isinstance(jitter, float | int)
    assert isinstance(period, int) and isinstance(buffer, int)
    return RefreshRules(factor, jitter, period, buffer)
