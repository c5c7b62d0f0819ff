"""What the configuration says about tokens of an endpoint or a file.

Role        Reads values and stores once, for a client or for a broker's own logins; asks nobody.
Source      OAuthBearerLoginCallbackHandler, AccessTokenRetrieverFactory, JaasOptionsUtils, ConfigurationUtils,
            ExpiringCredentialRefreshConfig.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from kafka_zk.config.errors import ConfigException
from kafka_zk.config.java_options import system_properties
from kafka_zk.sasl.client.access_token import AccessToken, RefreshRules, access_token
from kafka_zk.sasl.client.exchange import ExchangeFailed
from kafka_zk.sasl.client.oauthbearer import check_extensions
from kafka_zk.sasl.client.token_source import TokenEndpoint, persistent, token_file
from kafka_zk.sasl.oauth_http import TIMEOUT_S, Route, stores_of
from kafka_zk.sasl.oauth_urls import ALLOWED_URLS, check_url, file_of, is_file
from kafka_zk.tls.errors import TlsError

_URL: Final = "sasl.oauthbearer.token.endpoint.url"
_EXTENSION: Final = "extension_"

Value = Callable[[str], object]
"""The parsed value of a key, None where it has none."""


@dataclass(frozen=True, slots=True)
class TokenSettings:
    """How to have a token and what goes with it. `ask` blocks, and raises TokenUnavailable; `read` raises BadToken."""

    ask: Callable[[], str] = field(repr=False)
    read: Callable[[str], AccessToken] = field(repr=False)
    rules: RefreshRules
    extensions: Mapping[str, str]


def token_settings(value: Value, options: Mapping[str, str]) -> TokenSettings:
    """From a configuration and the options of OAuthBearerLoginModule. Blocks on the disk. Raises ConfigException."""
    extensions = {name[len(_EXTENSION) :]: text for name, text in options.items() if name.startswith(_EXTENSION)}
    try:
        check_extensions(extensions)
    except ExchangeFailed as error:
        raise ConfigException(str(error)) from None
    return TokenSettings(
        _asker(value, options),
        partial(
            access_token,
            scope_claim=str(value("sasl.oauthbearer.scope.claim.name")),
            subject_claim=str(value("sasl.oauthbearer.sub.claim.name")),
        ),
        _refresh_rules(value),
        extensions,
    )


def _asker(value: Value, options: Mapping[str, str]) -> Callable[[], str]:
    url = value(_URL)
    if url is None:
        raise ConfigException(f"The OAuth configuration option {_URL} value must be non-null")
    url = str(url).strip()
    if not url:
        raise ConfigException(f"The OAuth configuration option {_URL} value must not contain only whitespace")
    check_url(url, _URL, system_properties(os.environ).get(ALLOWED_URLS))
    if is_file(url):
        return partial(token_file, file_of(url, _URL))
    client_id, client_secret = _option(options, "clientId"), _option(options, "clientSecret")
    backoff_ms, max_ms = _backoff(value)
    try:
        context = stores_of(url, options)
    except TlsError as error:
        raise ConfigException(str(error)) from None
    route = Route(
        _timeout_s(value("sasl.login.connect.timeout.ms")), _timeout_s(value("sasl.login.read.timeout.ms")), context
    )
    is_encoded = value("sasl.oauthbearer.header.urlencode") is True
    endpoint = TokenEndpoint(url, client_id, client_secret, options.get("scope"), is_encoded, route)
    return persistent(endpoint.ask, backoff_ms, max_ms)


def _backoff(value: Value) -> tuple[int, int]:
    backoff_ms, max_ms = value("sasl.login.retry.backoff.ms"), value("sasl.login.retry.backoff.max.ms")
    assert isinstance(backoff_ms, int) and isinstance(max_ms, int)
    for name, given in (("retryBackoffMs", backoff_ms), ("retryBackoffMaxMs", max_ms)):
        if given < 0:
            raise ConfigException(f"{name} value ({given}) must be non-negative")
    if max_ms < backoff_ms:
        raise ConfigException(f"retryBackoffMaxMs value ({max_ms}) is less than retryBackoffMs value ({backoff_ms})")
    return backoff_ms, max_ms


def _option(options: Mapping[str, str], name: str) -> str:
    text = options.get(name)
    if text is None:
        raise ConfigException(f"The OAuth configuration option {name} value must be non-null")
    text = text.strip()
    if not text:
        raise ConfigException(f"The OAuth configuration option {name} value must not contain only whitespace")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigException(f"The OAuth configuration option {name} cannot be written as UTF-8") from None
    return text


def _timeout_s(value: object) -> float:
    return value / 1000 if isinstance(value, int) and value > 0 else TIMEOUT_S


def _refresh_rules(value: Value) -> RefreshRules:
    factor, jitter, period, buffer = (
        value(f"sasl.login.refresh.{name}")
        for name in ("window.factor", "window.jitter", "min.period.seconds", "buffer.seconds")
    )
    assert isinstance(factor, float | int) and isinstance(jitter, float | int)
    assert isinstance(period, int) and isinstance(buffer, int)
    return RefreshRules(factor, jitter, period, buffer)
