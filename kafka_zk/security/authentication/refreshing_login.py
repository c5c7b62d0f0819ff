"""The token with which this broker logs in at the others, fetched from an endpoint and renewed before it ends.

Role        Acts: a greenlet waits for the time, a thread asks the endpoint. The loop never waits for it.
Invariants  `exchange` never blocks. A token that cannot be renewed stays, also after its end: then the others refuse
            it. Neither the log nor an error holds a token or a secret.
Source      OAuthBearerRefreshingLogin, ExpiringCredentialRefreshingLogin in Kafka 3.9.
"""

from __future__ import annotations

import logging
import random
from typing import Any

import gevent

from kafka_zk.clock import Clock
from kafka_zk.config.errors import ConfigException
from kafka_zk.sasl.client.access_token import AccessToken, BadToken
from kafka_zk.sasl.client.exchange import Exchange
from kafka_zk.sasl.client.oauthbearer import OAuthBearerClient
from kafka_zk.sasl.client.token_settings import TokenSettings
from kafka_zk.sasl.client.token_source import PAUSE_AFTER_FAILURE_MS, SHORTEST_PAUSE_MS, TokenUnavailable
from kafka_zk.supervision import spawn_for_life
from kafka_zk.worker_pool import WorkerPool

log = logging.getLogger(
    "org.apache.kafka.common.security.oauthbearer.internals.expiring.ExpiringCredentialRefreshingLogin"
)


class RefreshingLogin:
    """The current token of one login. `start` before use; `stop` at the end."""

    def __init__(self, settings: TokenSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._pool = WorkerPool(1)
        self._token: AccessToken | None = None
        self._greenlet: Any = None

    def start(self) -> None:
        """Blocks for the first token. Raises ConfigException."""
        try:
            self._token = self._fetch()
        except TokenUnavailable as error:
            self._pool.kill()
            raise ConfigException(
                f"An internal error occurred while retrieving token from callback handler: {error}"
            ) from None
        self._greenlet = spawn_for_life("kafka-expiring-relogin-thread", self._run, pause_s=1.0)

    def stop(self) -> None:
        """Stop renewing. An endpoint that does not answer is not waited for."""
        if self._greenlet is not None:
            self._greenlet.kill()
        gevent.spawn(self._pool.kill)

    def exchange(self) -> Exchange:
        """The login of one connection. Raises ExchangeFailed for a token that cannot be sent."""
        assert self._token is not None, "not started"
        return OAuthBearerClient(self._token.text, self._settings.extensions)

    def _run(self) -> None:
        assert self._token is not None
        pause_ms = self._pause_ms(self._token)
        while True:
            gevent.sleep(pause_ms / 1000)
            try:
                self._token = self._fetch()
            except TokenUnavailable as error:
                log.warning("The access token could not be renewed, the old one stays until it ends: %s", error)
                pause_ms = PAUSE_AFTER_FAILURE_MS
            else:
                pause_ms = self._pause_ms(self._token)

    def _pause_ms(self, token: AccessToken) -> int:
        now_ms = self._clock.wall_ms()
        if now_ms >= token.expires_ms:
            # The clocks differ, or the endpoint repeats itself: no reason to ask it without a pause.
            return PAUSE_AFTER_FAILURE_MS
        due_ms = self._settings.rules.refresh_at_ms(token, now_ms, random.random())
        return max(due_ms - now_ms, SHORTEST_PAUSE_MS)

    def _fetch(self) -> AccessToken:
        """Blocks. Raises TokenUnavailable."""
        found = self._pool.apply(_fetched, (self._settings,))
        if isinstance(found, TokenUnavailable):
            raise found
        token: AccessToken = found
        return token

    def __repr__(self) -> str:
        return f"RefreshingLogin({self._token!r})"


def _fetched(settings: TokenSettings) -> AccessToken | TokenUnavailable:
    """For a thread of gevent's, which would print the traceback of an error."""
    try:
        return settings.read(settings.ask())
    except TokenUnavailable as error:
        return error
    except BadToken as error:
        return TokenUnavailable(str(error), is_final=True)
