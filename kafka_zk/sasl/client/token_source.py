"""Where the tokens of OAUTHBEARER come from: a token endpoint, or a file; and their renewal before they end.

Role        Acts: asks endpoints, reads files, and starts a thread for a renewal. No part of it needs an event loop.
Invariants  A token that is good is given at once, also while the next one is fetched. Logs and errors hold no secret.
Source      OAuthBearerLoginCallbackHandler, HttpAccessTokenRetriever, Retry, ExpiringCredentialRefreshingLogin in 3.9.
Differs     A file is read again for each token. No redirects; an answer has a size and a time.
"""

from __future__ import annotations

import logging
import random
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kafka_zk.sasl.client.access_token import (
    FATAL_STATUSES,
    AccessToken,
    BadToken,
    RefreshRules,
    authorization,
    request_body,
    token_in,
)
from kafka_zk.sasl.oauth_http import MAX_BYTES, BadStatus, NoAnswer, Route, answer_of

PAUSE_AFTER_FAILURE_MS: Final = 10_000
SHORTEST_PAUSE_MS: Final = 100
LEAST_LIFE_MS: Final = 1500
"""With less left of its token a session would end before it can be renewed: brokers refuse a renewal within a second of
the one before."""

log = logging.getLogger(
    "org.apache.kafka.common.security.oauthbearer.internals.expiring.ExpiringCredentialRefreshingLogin"
)


class TokenUnavailable(Exception):
    """No token could be had. The message has no secret. `is_final`: asking again changes nothing."""

    def __init__(self, why: str, *, is_final: bool = False) -> None:
        super().__init__(why)
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class TokenEndpoint:
    """What is asked for tokens, and as whom."""

    url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None
    is_header_encoded: bool = False
    route: Route = field(default_factory=Route)

    def ask(self) -> str:
        """Blocks. One token. Raises TokenUnavailable."""
        headers = {
            "Accept": "application/json",
            "Authorization": authorization(self.client_id, self.client_secret, is_encoded=self.is_header_encoded),
            "Cache-Control": "no-cache",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        try:
            return token_in(answer_of(self.url, self.route, headers=headers, form=request_body(self.scope)))
        except BadStatus as error:
            if error.status in FATAL_STATUSES:
                raise TokenUnavailable(
                    f"The response code {error.status} was encountered reading the token endpoint response; will not "
                    "attempt further retries",
                    is_final=True,
                ) from None
            raise TokenUnavailable(
                f"The unexpected response code {error.status} was encountered reading the token endpoint response"
            ) from None
        except NoAnswer as error:
            raise TokenUnavailable(f"The token endpoint could not be asked: {error}") from None
        except BadToken as error:
            raise TokenUnavailable(str(error), is_final=True) from None


def token_file(path: Path) -> str:
    """Blocks. The token in a file. Raises TokenUnavailable."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise TokenUnavailable(f"The file of the access token cannot be read: {type(error).__name__}") from None


def persistent(ask: Callable[[], str], backoff_ms: int, max_ms: int) -> Callable[[], str]:
    """Blocks for `max_ms` and one more attempt at most: asks again, after pauses that double from `backoff_ms`."""

    def asked() -> str:
        end_s = time.monotonic() + max_ms / 1000
        pause_s = backoff_ms / 1000
        while True:
            try:
                return ask()
            except TokenUnavailable as error:
                left_s = end_s - time.monotonic()
                if error.is_final or left_s <= 0 or pause_s <= 0:
                    raise
                time.sleep(min(pause_s, left_s))
                pause_s *= 2

    return asked


class TokenSource:
    """The current token of one client. `start` before use; may be used by several threads.

    A thread waits for the time to renew it. It ends with its source, at the latest when that time has come.
    """

    def __init__(self, ask: Callable[[], str], read: Callable[[str], AccessToken], rules: RefreshRules) -> None:
        """`ask` blocks for the text of a token and may raise TokenUnavailable; `read` may raise BadToken."""
        self._ask = ask
        self._read = read
        self._rules = rules
        self._fetching = threading.Lock()
        self._token: AccessToken | None = None

    def start(self) -> None:
        """Blocks for the first token. Raises TokenUnavailable."""
        with self._fetching:
            token = self._fetch()
        self._renew_at(self._due_ms(token))

    def token(self) -> str:
        """The text of the token. Blocks only near its end, where a session with it would be too short.

        Raises TokenUnavailable where it has ended and no other can be had.
        """
        token = self._token
        if token is None or _left_ms(token) < LEAST_LIFE_MS:
            with self._fetching:
                token = self._longest_lived()
        return token.text

    def _longest_lived(self) -> AccessToken:
        """Blocks, with `_fetching` held."""
        token = self._token
        if token is not None and _left_ms(token) >= LEAST_LIFE_MS:
            return token
        try:
            return self._fetch()
        except TokenUnavailable:
            if token is None or _left_ms(token) <= 0:
                raise
            return token

    def renew(self) -> None:
        """Blocks. Fetch the next token; where that fails, keep the old one and try again later."""
        try:
            with self._fetching:
                token = self._fetch()
        except Exception as error:
            # Also after a bug of ours: nobody else would ever renew the token. Its text might hold a secret.
            why = error if isinstance(error, TokenUnavailable) else type(error).__name__
            log.warning("The access token could not be renewed, the old one stays until it ends: %s", why)
            self._renew_at(_now_ms() + PAUSE_AFTER_FAILURE_MS)
        else:
            self._renew_at(self._due_ms(token))

    def _fetch(self) -> AccessToken:
        """Blocks, with `_fetching` held."""
        try:
            token = self._token = self._read(self._ask())
        except BadToken as error:
            raise TokenUnavailable(str(error), is_final=True) from None
        return token

    def _due_ms(self, token: AccessToken) -> int:
        now_ms = _now_ms()
        # A token that has ended already is no reason to ask without a pause.
        return max(self._rules.refresh_at_ms(token, now_ms, random.random()), now_ms + SHORTEST_PAUSE_MS)

    def _renew_at(self, due_ms: int) -> None:
        pause_s = min((due_ms - _now_ms()) / 1000, threading.TIMEOUT_MAX)
        timer = threading.Timer(max(0.0, pause_s), _renew, (weakref.ref(self),))
        timer.name = "kafka-expiring-relogin-thread"
        timer.daemon = True
        timer.start()

    def __repr__(self) -> str:
        return f"TokenSource({self._token!r})"


def _renew(source: weakref.ref[TokenSource]) -> None:
    alive = source()
    if alive is not None:
        alive.renew()


def _left_ms(token: AccessToken) -> int:
    return token.expires_ms - _now_ms()


def _now_ms() -> int:
    return int(time.time() * 1000)
