"""How a client proves to ZooKeeper who it is, and what it demands of the server.

Role        Declares the identity of a session, and makes one of a JAAS file's section.
Invariants  No repr shows a password.
Source      JaasUtils.isZkSaslEnabled in Kafka 3.9; ZooKeeperSaslClient and ZKClientConfig in ZooKeeper 3.8.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafka_zk.config.errors import ConfigException
from kafka_zk.config.java_options import system_properties
from kafka_zk.sasl.jaas import DIGEST, KERBEROS, JaasError, LoginModule
from kafka_zk.sasl.jaas_file import LOGIN_CONFIG, file_sections
from kafka_zk.tls.contexts import client_context
from kafka_zk.tls.settings import TlsSettings

ENABLED: Final = "zookeeper.sasl.client"
SECTION: Final = "zookeeper.sasl.clientconfig"
DEFAULT_SECTION: Final = "Client"


class IdentityError(ConfigException):
    """A configuration that gives no identity. The message has no secret."""


@dataclass(frozen=True, slots=True)
class DigestLogin:
    """DIGEST-MD5 with a name and a password: znodes created belong to `sasl:username`."""

    username: str
    password: str = field(repr=False)

    def kazoo_options(self) -> dict[str, Any]:
        """kazoo's sasl_options; it adds the server's name, which is fixed for this mechanism."""
        return {"mechanism": "DIGEST-MD5", "username": self.username, "password": self.password}


@dataclass(frozen=True, slots=True)
class ZkIdentity:
    """What all sessions of one program present. With neither, the program is anonymous and speaks plain text."""

    login: DigestLogin | None = None
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    has_certificate: bool = False
    """Whether the TLS handshake presents one: znodes created belong to its name then."""

    @property
    def is_somebody(self) -> bool:
        """Whether znodes can belong to this client."""
        return self.login is not None or (self.tls is not None and self.has_certificate)

    def __str__(self) -> str:
        """As the access lists of znodes name it."""
        if self.login is not None:
            return f"sasl:{self.login.username}"
        return "the client with its TLS certificate" if self.is_somebody else "an anonymous client"


ANONYMOUS: Final = ZkIdentity()


def digest_login(environ: Mapping[str, str]) -> DigestLogin | None:
    """Blocks for the JAAS file. The login of its section Client, None where there is no such section.

    Raises IdentityError, with Kafka's texts.
    """
    properties = system_properties(environ)
    try:
        sections = file_sections(environ)
    except JaasError as error:
        raise IdentityError(f"Exception while loading Zookeeper JAAS login context {shown(environ)}: {error}") from None
    modules = (sections or {}).get(properties.get(SECTION, DEFAULT_SECTION))
    if modules is None:
        return None
    if properties.get(ENABLED, "true").lower() != "true":
        raise IdentityError(
            "JAAS configuration is present, but system property zookeeper.sasl.client is set to false, which disables "
            "SASL in the ZooKeeper client"
        )
    return _login_of(modules[0], properties.get(SECTION, DEFAULT_SECTION))


def shown(environ: Mapping[str, str]) -> str:
    """The system properties that an identity depends on, as Kafka's messages show them."""
    properties = system_properties(environ)
    enabled, section = properties.get(ENABLED, "default:true"), properties.get(SECTION, "default:Client")
    return f"[{LOGIN_CONFIG}={properties.get(LOGIN_CONFIG, 'null')}, {ENABLED}={enabled}, {SECTION}={section}]"


def _login_of(module: LoginModule, section: str) -> DigestLogin:
    if module.name == KERBEROS:
        raise IdentityError(
            f"The section {section} of the JAAS file asks for Kerberos, which is not supported for ZooKeeper: "
            f"use {DIGEST} or a TLS client certificate."
        )
    if module.name != DIGEST:
        raise IdentityError(f"No LoginModule found for {module.name} (section {section} of the JAAS file)")
    missing = [key for key in ("username", "password") if not module.options.get(key)]
    if missing:
        raise IdentityError(f"The section {section} of the JAAS file has no {' and no '.join(missing)}")
    return DigestLogin(module.options["username"], module.options["password"])


NAMES_IN_JAVA: Final = {
    "ssl.client.enable": "zookeeper.client.secure",
    "clientCnxnSocket": "zookeeper.clientCnxnSocket",
    "ssl.keystore.location": "zookeeper.ssl.keyStore.location",
    "ssl.keystore.password": "zookeeper.ssl.keyStore.password",
    "ssl.keystore.type": "zookeeper.ssl.keyStore.type",
    "ssl.truststore.location": "zookeeper.ssl.trustStore.location",
    "ssl.truststore.password": "zookeeper.ssl.trustStore.password",
    "ssl.truststore.type": "zookeeper.ssl.trustStore.type",
    "ssl.protocol": "zookeeper.ssl.protocol",
    "ssl.enabled.protocols": "zookeeper.ssl.enabledProtocols",
    "ssl.cipher.suites": "zookeeper.ssl.ciphersuites",
    "ssl.endpoint.identification.algorithm": "zookeeper.ssl.hostnameVerification",
}
"""The system properties that count where a key is not configured."""

_TYPES_BY_SUFFIX: Final = {".jks": "JKS", ".pem": "PEM", ".p12": "PKCS12", ".pfx": "PKCS12"}


def identity(values: Mapping[str, object], environ: Mapping[str, str], prefix: str = "zookeeper.") -> ZkIdentity:
    """Blocks for files. The identity that zookeeper.ssl.* keys (behind `prefix`) and KAFKA_OPTS describe.

    `values` are those that somebody has set, by key. Raises IdentityError; TlsError for stores.
    """
    login = digest_login(environ)
    found = _configured(values, environ, prefix)
    if found.get("ssl.client.enable", "false").lower() != "true":
        return ZkIdentity(login)
    settings = TlsSettings.of(_for_tls(found))
    return ZkIdentity(login, client_context(settings), settings.key is not None)


def check_somebody(found: ZkIdentity, environ: Mapping[str, str]) -> None:
    """Raise IdentityError, with Kafka's text, where zookeeper.set.acl has no owner for the znodes."""
    if not found.is_somebody:
        raise IdentityError(
            "zookeeper.set.acl is true, but ZooKeeper client TLS configuration identifying at least "
            "zookeeper.ssl.client.enable, zookeeper.clientCnxnSocket, and zookeeper.ssl.keystore.location was not "
            f"present and the verification of the JAAS login file failed {shown(environ)}"
        )


def _configured(values: Mapping[str, object], environ: Mapping[str, str], prefix: str) -> dict[str, str]:
    """The texts by name, without prefix: what is configured before what is a system property."""
    properties = system_properties(environ)
    found = {name: properties[java] for name, java in NAMES_IN_JAVA.items() if java in properties}
    verification = found.pop("ssl.endpoint.identification.algorithm", None)
    if verification is not None:
        found["ssl.endpoint.identification.algorithm"] = "HTTPS" if verification.lower() == "true" else ""
    for name in NAMES_IN_JAVA:
        value = values.get(prefix + name)
        if value is not None:
            found[name] = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return found


def _for_tls(found: Mapping[str, str]) -> dict[str, str]:
    """What ZooKeeper's client does otherwise than Kafka's: types by suffix, one protocol, one password."""
    settings = dict(found)
    for store in ("ssl.keystore", "ssl.truststore"):
        location = found.get(f"{store}.location")
        if location is not None and f"{store}.type" not in found:
            suffix = "." + location.rpartition(".")[2].lower()
            settings[f"{store}.type"] = _TYPES_BY_SUFFIX.get(suffix, "JKS")
        if settings.get(f"{store}.type") == "PEM":
            # Kafka's PEM stores have no password but the key's.
            password = settings.pop(f"{store}.password", None)
            if password and store == "ssl.keystore":
                settings["ssl.key.password"] = password
    settings.setdefault("ssl.enabled.protocols", found.get("ssl.protocol", "TLSv1.2"))
    return settings
