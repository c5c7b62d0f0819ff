"""Whether the certificate of a listener would be believed by a broker with the same stores.

Role        Makes two contexts, and lets them shake hands in memory.
Source      SslFactory.SslEngineValidator in Kafka 3.9.
"""

from __future__ import annotations

import ssl
from dataclasses import replace

from kafka_zk.tls.contexts import client_context, server_context
from kafka_zk.tls.errors import TlsError
from kafka_zk.tls.settings import TlsSettings

OWN_FAILS = (
    "A client SSLEngine created with the provided settings can't connect to a server SSLEngine created with those "
    "settings."
)
HANDSHAKE = "javax.net.ssl.SSLHandshakeException"
_ROUNDS = 8
"""A handshake takes two; more if its messages come in parts."""


def check_own_certificate(settings: TlsSettings) -> None:
    """Raise TlsError unless a client with these settings and a server with them shake hands. Blocks on the disk."""
    asking = client_context(replace(settings, checks_host_name=False))
    if settings.key is None:
        raise TlsError(f"Invalid value {HANDSHAKE}: No available authentication scheme for configuration {OWN_FAILS}")
    failure = failure_between(server_context(settings), asking)
    if failure is not None:
        # The nesting is Kafka's: it hands Java's exception on as the wrong value. The reason is OpenSSL's.
        raise TlsError(f"Invalid value {HANDSHAKE}: {failure} for configuration {OWN_FAILS}")


def failure_between(serving: ssl.SSLContext, asking: ssl.SSLContext) -> str | None:
    """Why these two do not shake hands, None if they do. `asking` must not look at host names."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (asking.wrap_bio(to_client, to_server), serving.wrap_bio(to_server, to_client, server_side=True))
    try:
        for _ in range(_ROUNDS):
            asked, served = map(_is_done, ends)
            if asked and served:
                # With TLS 1.3 the server's verdict on the client's certificate comes last.
                return None if _hears_nothing(ends[0]) else "the server closed"
    except ssl.SSLError as error:
        return error.reason or str(error)
    return "the handshake does not end"


def _is_done(end: ssl.SSLObject) -> bool:
    try:
        end.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def _hears_nothing(end: ssl.SSLObject) -> bool:
    try:
        end.read(1)
    except ssl.SSLWantReadError:
        return True
    return False
