"""The zookeeper.ssl.* values, and the system properties of ZooKeeper's client that stand in for those not set.

Role        Pure.
Invariants  What would only weaken a check is refused: revocation lists and OCSP are not looked at here.
Source      ZkConfigs.ZK_SSL_CONFIG_TO_SYSTEM_PROPERTY_MAP, KafkaConfig.zooKeeperClientProperty; X509Util and
            KeyStoreFileType of ZooKeeper 3.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_zk.config.errors import ConfigException
from kafka_zk.tls.settings import DEFAULT_PROTOCOLS, KeySource, TlsSettings, TrustSource

ENABLE: Final = "zookeeper.ssl.client.enable"
SOCKET: Final = "zookeeper.clientCnxnSocket"
HOST_CHECK: Final = "zookeeper.ssl.endpoint.identification.algorithm"
KEY_STORE: Final = "zookeeper.ssl.keystore.location"

SYSTEM_PROPERTIES: Final[Mapping[str, str]] = {
    ENABLE: "zookeeper.client.secure",
    SOCKET: "zookeeper.clientCnxnSocket",
    KEY_STORE: "zookeeper.ssl.keyStore.location",
    "zookeeper.ssl.keystore.password": "zookeeper.ssl.keyStore.password",
    "zookeeper.ssl.keystore.type": "zookeeper.ssl.keyStore.type",
    "zookeeper.ssl.truststore.location": "zookeeper.ssl.trustStore.location",
    "zookeeper.ssl.truststore.password": "zookeeper.ssl.trustStore.password",
    "zookeeper.ssl.truststore.type": "zookeeper.ssl.trustStore.type",
    "zookeeper.ssl.protocol": "zookeeper.ssl.protocol",
    "zookeeper.ssl.enabled.protocols": "zookeeper.ssl.enabledProtocols",
    "zookeeper.ssl.cipher.suites": "zookeeper.ssl.ciphersuites",
    HOST_CHECK: "zookeeper.ssl.hostnameVerification",
    "zookeeper.ssl.crl.enable": "zookeeper.ssl.crl",
    "zookeeper.ssl.ocsp.enable": "zookeeper.ssl.ocsp",
}
"""Keys of Kafka, and the system properties that say the same."""

_SUFFIXES: Final = {".jks": "JKS", ".pem": "PEM", ".p12": "PKCS12"}


def value_of(name: str, values: Mapping[str, str], properties: Mapping[str, str]) -> str | None:
    """What is set for `name`, else what its system property says, else None."""
    value = values.get(name)
    return properties.get(SYSTEM_PROPERTIES[name]) if value is None else value.strip()


def identifies_client(values: Mapping[str, str], properties: Mapping[str, str]) -> bool:
    """Whether a client certificate says who this is. Source: KafkaConfig.zkTlsClientAuthEnabled."""
    return _is_on(ENABLE, values, properties) and all(
        value_of(name, values, properties) is not None for name in (SOCKET, KEY_STORE)
    )


def tls_settings(values: Mapping[str, str], properties: Mapping[str, str]) -> TlsSettings | None:
    """None where ZooKeeper is spoken to in plaintext. Raises ConfigException."""
    if not _is_on(ENABLE, values, properties):
        return None

    def text(name: str) -> str | None:
        return value_of(f"zookeeper.ssl.{name}", values, properties)

    for name in ("crl.enable", "ocsp.enable"):
        if _is_on(f"zookeeper.ssl.{name}", values, properties):
            raise ConfigException(
                f"zookeeper.ssl.{name}=true cannot be used: whether a certificate is revoked is not checked here."
            )
    key_store, trust_store = text("keystore.location"), text("truststore.location")
    password = text("keystore.password")
    key = trust = None
    if key_store:
        store_type = _type_of("KeyStore", text("keystore.type"), key_store)
        key = KeySource(store_type, key_store, None if store_type == "PEM" else password or "", password)
    if trust_store:
        store_type = _type_of("TrustStore", text("truststore.type"), trust_store)
        trust = TrustSource(store_type, trust_store, None if store_type == "PEM" else text("truststore.password"))
    return TlsSettings(
        key=key,
        trust=trust,
        protocols=_protocols(text("enabled.protocols"), text("protocol")),
        cipher_suites=_entries(text("cipher.suites")),
        checks_host_name=_checks_host_name(values, properties),
    )


def _checks_host_name(values: Mapping[str, str], properties: Mapping[str, str]) -> bool:
    algorithm = values.get(HOST_CHECK)
    if algorithm is not None:
        return algorithm.strip().upper() == "HTTPS"
    return properties.get(SYSTEM_PROPERTIES[HOST_CHECK], "true").lower() == "true"


def _is_on(name: str, values: Mapping[str, str], properties: Mapping[str, str]) -> bool:
    return (value_of(name, values, properties) or "").lower() == "true"


def _entries(text: str | None) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in (text or "").split(",") if entry.strip())


def _protocols(enabled: str | None, protocol: str | None) -> tuple[str, ...]:
    """Differs from Kafka, which offers no TLSv1.3 unless told to: servers from ZooKeeper 3.9 on take nothing else."""
    return _entries(enabled) or (DEFAULT_PROTOCOLS if protocol in (None, "TLS") else (protocol,))


def _type_of(kind: str, given: str | None, location: str) -> str:
    """As ZooKeeper finds it out: by the file's suffix unless it is said."""
    if given:
        return given.upper()
    for suffix, store_type in _SUFFIXES.items():
        if location.endswith(suffix):
            return store_type
    raise ConfigException(f"Unable to auto-detect {kind} file type from file name: {location}")
