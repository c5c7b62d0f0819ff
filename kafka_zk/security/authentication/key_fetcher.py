"""Fetches the keys of a token issuer, and keeps them fresh.

Role        Acts: a greenlet waits, a thread fetches. The loop never waits for an issuer.
Invariants  A fetch takes at most FETCH_S and MAX_BYTES, whatever the issuer sends. A failed one keeps the old keys.
            Neither the log nor an error holds what was fetched: the URL may be that of a file nobody meant to show.
Source      RefreshingHttpsJwks, RefreshingHttpsJwksVerificationKeyResolver, JwksFileVerificationKeyResolver,
            ConfigurationUtils.validateUrl; org.apache.kafka.sasl.oauthbearer.allowed.urls (CVE-2025-27817).
Differs     A redirect is an error.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Sequence
from typing import Any

import gevent
from gevent.event import Event

from kafka_zk.clock import Clock
from kafka_zk.config.errors import ConfigException
from kafka_zk.sasl.oauth_http import MAX_BYTES, NoAnswer, Route, answer_of
from kafka_zk.sasl.oauth_urls import file_of, is_file
from kafka_zk.sasl.server.signing_keys import BadKeySet, SigningKey, SigningKeys, signing_keys
from kafka_zk.security.authentication.missing_keys import MissingKeys
from kafka_zk.security.authentication.settings import KeySource
from kafka_zk.supervision import spawn_for_life
from kafka_zk.worker_pool import WorkerPool

FETCH_S = 10.0
START_PAUSES_MS = (180, 360, 720)
"""Between the attempts of a start. Source: jose4j's Get."""
SHORTEST_REFRESH_MS = 100
"""A smaller sasl.oauthbearer.jwks.endpoint.refresh.ms would do nothing but fetch."""

log = logging.getLogger("org.apache.kafka.common.security.oauthbearer.internals.secured.RefreshingHttpsJwks")


class FetchFailed(Exception):
    """The keys could not be fetched; the text says why and holds nothing of them."""


class KeyFetcher:
    """The keys behind one URL. `start` before use; `stop` at the end."""

    def __init__(self, source: KeySource, clock: Clock, context: ssl.SSLContext | None = None) -> None:
        """`context`: what an https server is checked with; None where the URL is none of https."""
        self._source = source
        self._context = context
        self._clock = clock
        self._pool = WorkerPool(1)
        self._keys: SigningKeys = {}
        self._missing = MissingKeys()
        self._wanted = Event()
        self._greenlet: Any = None

    def start(self) -> None:
        """Blocks until the keys are there. Raises ConfigException."""
        try:
            # A file is read once, as in Kafka.
            self._keys = self._fetch() if is_file(self._source.url) else self._fetch_patiently()
        except FetchFailed as failed:
            self._pool.kill()
            raise ConfigException(
                "The OAuth validator configuration encountered an error when initializing the "
                f"VerificationKeyResolver: {failed}"
            ) from None
        if not is_file(self._source.url):
            self._greenlet = spawn_for_life("RefreshingHttpsJwks", self._run, pause_s=1.0)

    def stop(self) -> None:
        """Stop refreshing. An issuer that does not answer is not waited for."""
        if self._greenlet is not None:
            self._greenlet.kill()
        gevent.spawn(self._pool.kill)

    def keys_of(self, key_id: str) -> Sequence[SigningKey]:
        """The keys with this id. None of an unknown one, which may be fetched soon."""
        found = self._keys.get(key_id)
        if found is None:
            if self._greenlet is not None and self._missing.is_worth_a_look(key_id, self._clock.monotonic_ms()):
                self._wanted.set()
            return ()
        return found

    def _fetch(self) -> SigningKeys:
        """Blocks. Raises FetchFailed."""
        found = self._pool.apply(_fetched, (self._source.url, self._context))
        if isinstance(found, FetchFailed):
            raise found
        keys: SigningKeys = found
        return keys

    def _fetch_patiently(self) -> SigningKeys:
        """Blocks. Raises FetchFailed where the last attempt fails, too."""
        for pause_ms in START_PAUSES_MS:
            try:
                return self._fetch()
            except FetchFailed as failed:
                log.debug("The signing keys of tokens will be asked for again: %s", failed)
            gevent.sleep(pause_ms / 1000)
        return self._fetch()

    def _run(self) -> None:
        while True:
            self._wanted.wait(max(self._source.refresh_ms, SHORTEST_REFRESH_MS) / 1000)
            self._wanted.clear()
            self._refresh()

    def _refresh(self) -> None:
        """Blocks. Try again after growing waits, the last one at the end of the time that the configuration allows."""
        end_ms = self._clock.monotonic_ms() + self._source.retry_backoff_max_ms
        wait_ms = self._source.retry_backoff_ms
        while True:
            try:
                self._keys = self._fetch()
            except FetchFailed as failed:
                left_ms = end_ms - self._clock.monotonic_ms()
                if min(wait_ms, left_ms) <= 0:
                    log.warning("The signing keys of tokens could not be refreshed, the old ones stay: %s", failed)
                    return
                gevent.sleep(min(wait_ms, left_ms) / 1000)
                wait_ms *= 2
            else:
                self._missing.forget(frozenset(self._keys))
                return

    def __repr__(self) -> str:
        return f"signing keys {sorted(self._keys)}"


def fetch(url: str, context: ssl.SSLContext | None = None) -> SigningKeys:
    """Blocks, so call it in a thread. The keys at a URL that `check_url` accepts. Raises FetchFailed.

    `context`: what an https server is checked with.
    """
    try:
        if is_file(url):
            return signing_keys(_read_file(url))
        return signing_keys(answer_of(url, Route(FETCH_S, FETCH_S, context)))
    except (BadKeySet, NoAnswer) as error:
        raise FetchFailed(str(error)) from None
    except OSError as error:
        raise FetchFailed(error.strerror or type(error).__name__) from None


def _fetched(url: str, context: ssl.SSLContext | None) -> SigningKeys | FetchFailed:
    """`fetch` for a thread of gevent's, which would print the traceback of an error."""
    try:
        return fetch(url, context)
    except FetchFailed as failed:
        return failed


def _read_file(url: str) -> bytes:
    with file_of(url, "sasl.oauthbearer.jwks.endpoint.url").open("rb") as file:
        text = file.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        raise FetchFailed(f"the file is larger than {MAX_BYTES} bytes")
    return text
