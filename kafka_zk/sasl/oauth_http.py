"""One request to an OAuth server: for a token, or for the keys of an issuer.

Role        Blocks: a broker calls it in a thread.
Invariants  An answer has a size and a time. The name of an https server is always compared with its certificate.
            No error holds what was sent or answered.
Source      HttpAccessTokenRetriever.post in Kafka 3.9, jose4j's Get; JaasOptionsUtils.createSSLSocketFactory.
Differs     A redirect is an answer like any other, and no proxy is used.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_zk.sasl.http_exchange import TooLarge, TooSlow, exchange
from kafka_zk.tls.contexts import client_context
from kafka_zk.tls.settings import TlsSettings

MAX_BYTES: Final = 1024 * 1024
TIMEOUT_S: Final = 10.0
"""Where the configuration names none."""

_STORES: Final = (
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
)


class NoAnswer(Exception):
    """The server could not be asked, or did not answer as it should; the text says why."""


@dataclass(frozen=True, slots=True)
class Route:
    """How the server is reached. Seconds until there is a connection, and from then on until the end of the answer."""

    connect_s: float = TIMEOUT_S
    read_s: float = TIMEOUT_S
    context: ssl.SSLContext | None = field(default=None, repr=False)


def stores_of(url: str, options: Mapping[str, str]) -> ssl.SSLContext | None:
    """What an https server is checked with: the stores among the options of a login module; None for plain http.

    Of the options only the stores count, as in Kafka. Blocks on the disk. Raises TlsError with Kafka's texts.
    """
    if not url.lower().startswith("https:"):
        return None
    return client_context(TlsSettings.of({name: options[name].strip() for name in _STORES if name in options}))


def answer_of(url: str, route: Route, *, headers: Mapping[str, str] | None = None, form: bytes | None = None) -> bytes:
    """Blocks. What the server answers with status 200 or 201 to GET, or to the POST of a form.

    Raises NoAnswer, BadStatus.
    """
    try:
        answer = exchange(
            url,
            method="GET" if form is None else "POST",
            body=form,
            headers=headers,
            context=route.context,
            connect_timeout_s=route.connect_s,
            timeout_s=route.read_s,
            max_bytes=MAX_BYTES,
        )
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NoAnswer(reason_of(error)) from None
    if answer.status not in (http.HTTPStatus.OK, http.HTTPStatus.CREATED):
        raise BadStatus(answer.status)
    return answer.body


class BadStatus(NoAnswer):
    """The server answered with another status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the server answered with status {status}")
        self.status = status


def reason_of(error: Exception) -> str:
    """Why, without what was read: errors of the HTTP client quote it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"SSL handshake failed: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"SSL handshake failed: {error.reason}"
    if isinstance(error, TimeoutError):
        return "timed out"
    if isinstance(error, TooLarge | TooSlow):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
