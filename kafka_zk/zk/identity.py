"""How a client proves to ZooKeeper who it is, and what it demands of the server.

Role        Declares the identity of a session, and makes one of a JAAS file's section.
Invariants  No repr shows a password.
Source      JaasUtils.isZkSaslEnabled in Kafka 3.9; ZooKeeperSaslClient and ZKClientConfig in ZooKeeper 3.8.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from kafka_zk.config.errors import ConfigException
from kafka_zk.config.java_options import system_properties
from kafka_zk.sasl.client.digest_md5 import DigestMd5Client
from kafka_zk.sasl.client.exchange import Exchange
from kafka_zk.sasl.jaas import DIGEST, KERBEROS, JaasError, LoginModule
from kafka_zk.sasl.jaas_file import LOGIN_CONFIG, file_sections
from kafka_zk.tls.names import subject_of
from kafka_zk.tls.settings import TlsSettings
from kafka_zk.zk.tls_settings import identifies_client, tls_settings

log = logging.getLogger("org.apache.kafka.common.security.JaasUtils")

ENABLED: Final = "zookeeper.sasl.client"
SECTION: Final = "zookeeper.sasl.clientconfig"
DEFAULT_SECTION: Final = "Client"


class IdentityError(ConfigException):
    """A configuration that gives no identity. The message has no secret."""


class SaslIdentity(Protocol):
    """Who logs in at ZooKeeper."""

    @property
    def username(self) -> str: ...
    def exchange(self, host: str) -> Exchange:
        """For one connection to a server. Its steps may block."""
        ...


@dataclass(frozen=True, slots=True)
class DigestLogin:
    """DIGEST-MD5 with a name and a password: znodes created belong to `sasl:username`."""

    username: str
    password: str = field(repr=False)

    def exchange(self, host: str) -> DigestMd5Client:
        """For one connection; the server's host is of no interest."""
        return DigestMd5Client(self.username, self.password)


@dataclass(frozen=True, slots=True)
class ZkIdentity:
    """What all sessions of one program present. With neither, the program is anonymous and speaks plain text."""

    login: SaslIdentity | None = None
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    tls_settings: TlsSettings | None = None
    """What `tls` was made from."""
    certificate: str | None = None
    """The subject of the certificate in the TLS handshake: znodes created belong to `x509:` and this name."""
    is_somebody: bool = False
    """Whether znodes can belong to this client."""

    def __str__(self) -> str:
        """As the access lists of znodes name it."""
        names = [f"sasl:{self.login.username}"] if self.login else []
        names += [f"x509:{self.certificate}"] if self.certificate else []
        return " and ".join(names) or "an anonymous client"


ANONYMOUS: Final = ZkIdentity()


def sasl_login(environ: Mapping[str, str]) -> SaslIdentity | None:
    """Blocks for the JAAS file, and for a ticket of Kerberos. The login of its section Client, if there is one.

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
        log.error(
            "JAAS configuration is present, but system property zookeeper.sasl.client is set to false, which disables "
            "SASL in the ZooKeeper client"
        )
        raise IdentityError(f"Exception while determining if ZooKeeper is secure {shown(environ)}")
    return _login_of(modules[0], properties.get(SECTION, DEFAULT_SECTION), properties)


def shown(environ: Mapping[str, str]) -> str:
    """The system properties that an identity depends on, as Kafka's messages show them."""
    properties = system_properties(environ)
    enabled, section = properties.get(ENABLED, "default:true"), properties.get(SECTION, "default:Client")
    return f"[{LOGIN_CONFIG}={properties.get(LOGIN_CONFIG, 'null')}, {ENABLED}={enabled}, {SECTION}={section}]"


def _login_of(module: LoginModule, section: str, properties: Mapping[str, str]) -> SaslIdentity:
    if module.name == KERBEROS:
        # Late: most programs have another identity.
        from kafka_zk.zk.kerberos import KerberosIdentity, NoTicket

        try:
            return KerberosIdentity(module.options, properties)
        except NoTicket as error:
            raise IdentityError(f"The login of section {section} of the JAAS file failed: {error}") from None
    if module.name != DIGEST:
        raise IdentityError(f"No LoginModule found for {module.name} (section {section} of the JAAS file)")
    missing = [key for key in ("username", "password") if not module.options.get(key)]
    if missing:
        raise IdentityError(f"The section {section} of the JAAS file has no {' and no '.join(missing)}")
    return DigestLogin(module.options["username"], module.options["password"])


def identity(values: Mapping[str, str], environ: Mapping[str, str]) -> ZkIdentity:
    """Blocks for files, and for a ticket of Kerberos. The identity that zookeeper.ssl.* keys, as somebody has set them,
    and KAFKA_OPTS describe.

    Raises IdentityError; ConfigException for TLS settings, and TlsError for stores.
    """
    login, properties = sasl_login(environ), system_properties(environ)
    settings = tls_settings(values, properties)
    if settings is None:
        return ZkIdentity(login, is_somebody=login is not None)
    # Late: with it come cryptography's certificates, which a start in plaintext does without.
    from kafka_zk.tls.contexts import client_context

    return ZkIdentity(
        login,
        client_context(settings),
        settings,
        _subject(settings),
        login is not None or identifies_client(values, properties),
    )


def _subject(settings: TlsSettings) -> str | None:
    from kafka_zk.tls.stores import load_keys

    chains = [entry.chain for entry in load_keys(settings.key)] if settings.key else []
    return subject_of(chains[0][0]) if chains and chains[0] else None


def check_somebody(found: ZkIdentity, environ: Mapping[str, str]) -> None:
    """Raise IdentityError, with Kafka's text, where zookeeper.set.acl has no owner for the znodes."""
    if not found.is_somebody:
        raise IdentityError(
            "zookeeper.set.acl is true, but ZooKeeper client TLS configuration identifying at least "
            "zookeeper.ssl.client.enable, zookeeper.clientCnxnSocket, and zookeeper.ssl.keystore.location was not "
            f"present and the verification of the JAAS login file failed {shown(environ)}"
        )
