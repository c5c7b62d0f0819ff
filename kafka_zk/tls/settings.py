"""The ssl.* values of one listener, channel or client, and the rules between those of its stores.

Role        Pure.
Invariants  Printing settings shows no password, key or certificate.
Source      SslConfigs, DefaultSslEngineFactory.createKeystore and createTruststore.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from kafka_zk.tls.errors import TlsError

PEM = "PEM"
DEFAULT_PROTOCOLS = ("TLSv1.2", "TLSv1.3")
DEFAULT_STORE_TYPE = "JKS"


class ClientAuth(Enum):
    """Whether a listener asks its clients for a certificate (ssl.client.auth)."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class KeySource:
    """Where the own key and its chain come from: a file, or PEM text. Secrets do not show in the repr."""

    store_type: str
    location: str | None = None
    password: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    certificate_chain: str | None = field(default=None, repr=False)

    def check(self) -> KeySource | None:
        """Itself, None where no key is configured. Raises TlsError, in Kafka's order."""
        if self.key is not None:
            _require(
                self.store_type == PEM,
                f"SSL private key can be specified only for PEM, but key store type is {self.store_type}.",
            )
            _require(
                self.certificate_chain is not None,
                "SSL private key is specified, but certificate chain is not specified.",
            )
            _require(self.location is None, "Both SSL key store location and separate private key are specified.")
            _require(
                self.password is None,
                "SSL key store password cannot be specified with PEM format, only key password may be specified.",
            )
            return self
        _require(self.certificate_chain is None, "SSL certificate chain is specified, but private key is not specified")
        if self.store_type == PEM and self.location is not None:
            _require(
                self.password is None,
                "SSL key store password cannot be specified with PEM format, only key password may be specified",
            )
            return self
        _require(
            self.location is not None or self.password is None,
            "SSL key store is not specified, but key store password is specified.",
        )
        _require(
            self.location is None or self.password is not None,
            "SSL key store is specified, but key store password is not specified.",
        )
        return None if self.location is None else self


@dataclass(frozen=True, slots=True)
class TrustSource:
    """Where the trusted certificates come from: a file, or PEM text."""

    store_type: str
    location: str | None = None
    password: str | None = field(default=None, repr=False)
    certificates: str | None = field(default=None, repr=False)

    def check(self) -> TrustSource | None:
        """Itself, None where the system's authorities count. Raises TlsError, in Kafka's order."""
        if self.certificates is not None:
            _require(
                self.store_type == PEM,
                f"SSL trust store certs can be specified only for PEM, but trust store type is {self.store_type}.",
            )
            _require(
                self.location is None, "Both SSL trust store location and separate trust certificates are specified."
            )
            _require(self.password is None, "SSL trust store password cannot be specified for PEM format.")
            return self
        if self.store_type == PEM and self.location is not None:
            _require(self.password is None, "SSL trust store password cannot be specified for PEM format.")
            return self
        _require(
            self.location is not None or self.password is None,
            "SSL trust store is not specified, but trust store password is specified.",
        )
        return None if self.location is None else self


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """What a context is made from; see `contexts`."""

    key: KeySource | None = None
    trust: TrustSource | None = None
    client_auth: ClientAuth = ClientAuth.NONE
    protocols: tuple[str, ...] = DEFAULT_PROTOCOLS
    cipher_suites: tuple[str, ...] = ()
    """Names of IANA, as Java has them; empty: all that are safe."""
    checks_host_name: bool = True
    """Whether a client compares the server's certificate with the host that it wanted."""

    @classmethod
    def of(cls, values: Mapping[str, object], prefix: str = "ssl.") -> TlsSettings:
        """From values by key, parsed or as text; a key that is missing or None has Kafka's default.

        `prefix` is before the names: zookeeper.ssl. has the same ones. Raises TlsError for values that contradict
        each other, with Kafka's texts; reads no file.
        """

        def text(name: str) -> str | None:
            value = values.get(prefix + name)
            return None if value is None else str(value)

        def entries(name: str) -> tuple[str, ...]:
            value = values.get(prefix + name)
            given = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
            return tuple(entry.strip() for entry in map(str, given) if entry.strip())

        key = KeySource(
            text("keystore.type") or DEFAULT_STORE_TYPE,
            text("keystore.location"),
            text("keystore.password"),
            text("key.password"),
            text("keystore.key"),
            text("keystore.certificate.chain"),
        )
        trust = TrustSource(
            text("truststore.type") or DEFAULT_STORE_TYPE,
            text("truststore.location"),
            text("truststore.password"),
            text("truststore.certificates"),
        )
        return cls(
            key=key.check(),
            trust=trust.check(),
            client_auth=ClientAuth((text("client.auth") or "none").lower()),
            protocols=entries("enabled.protocols") or DEFAULT_PROTOCOLS,
            cipher_suites=entries("cipher.suites"),
            checks_host_name=_checks_host_name(text("endpoint.identification.algorithm")),
        )


def _checks_host_name(algorithm: str | None) -> bool:
    if algorithm is None:
        return True
    # Java fails each handshake for a name that it does not know; better none is begun.
    _require(algorithm.lower() in ("", "https"), f"Unknown identification algorithm: {algorithm}")
    return bool(algorithm)


def _require(holds: bool, text: str) -> None:
    if not holds:
        raise TlsError(text)
