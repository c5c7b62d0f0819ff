"""Broker keys: the connection to ZooKeeper."""

from __future__ import annotations

from kafka_zk.config.declaration import BOOLEAN, HIGH, INT, LIST, LOW, MEDIUM, PASSWORD, STRING, Config
from kafka_zk.config.validators import at_least

# fmt: off
ZOOKEEPER_KEYS: tuple[Config, ...] = (
    Config("zookeeper.clientCnxnSocket", STRING, None, None, MEDIUM,
           "Java socket class of the ZooKeeper client.", read_by="broker.membership.zookeeper_identity"),
    Config("zookeeper.connect", STRING, None, None, HIGH,
           "ZooKeeper servers as host:port, separated by commas, with an optional path at the end.",
           read_by="broker.membership.membership"),
    Config("zookeeper.connection.timeout.ms", INT, None, None, HIGH,
           "Longest wait for the first connection; absent: the session timeout.",
           read_by="broker.membership.membership"),
    Config("zookeeper.max.in.flight.requests", INT, 10, at_least(1), HIGH,
           "Requests sent to ZooKeeper before an answer is awaited.", read_by="broker.membership.membership"),
    Config("zookeeper.session.timeout.ms", INT, 18_000, None, HIGH,
           "Silence after which ZooKeeper gives this broker up.", read_by="broker.membership.membership"),
    Config("zookeeper.set.acl", BOOLEAN, False, None, HIGH,
           "Protect the znodes that brokers write.", read_by="broker.membership.membership"),
    Config("zookeeper.ssl.cipher.suites", LIST, None, None, LOW,
           "ZooKeeper over TLS: cipher suites.", read_by="broker.membership.zookeeper_identity"),
    Config("zookeeper.ssl.client.enable", BOOLEAN, False, None, MEDIUM,
           "Talk to ZooKeeper over TLS.", read_by="broker.membership.zookeeper_identity"),
    Config("zookeeper.ssl.crl.enable", BOOLEAN, False, None, LOW,
           "ZooKeeper over TLS: check revocation lists.", read_by="broker.membership.zookeeper_identity"),
    Config("zookeeper.ssl.enabled.protocols", LIST, None, None, LOW,
           "ZooKeeper over TLS: versions.", read_by="broker.membership.zookeeper_identity"),
    Config("zookeeper.ssl.endpoint.identification.algorithm", STRING, "HTTPS", None, LOW,
           "ZooKeeper over TLS: check of the server's name.", read_by="broker.membership.zookeeper_identity"),
    Config("zookeeper.ssl.keystore.location", STRING, None, None, MEDIUM,
           "ZooKeeper over TLS: own certificate.", read_by="broker.membership.zookeeper_identity"),
    Config("zookeeper.ssl.keystore.password", PASSWORD, None, None, MEDIUM,
           "ZooKeeper over TLS: password of that file.", read_by="broker.membership.zookeeper_identity"),
    Config("zookeeper.ssl.keystore.type", STRING, None, None, MEDIUM,
           "ZooKeeper over TLS: format of that file.", read_by="broker.membership.zookeeper_identity"),
    Config("zookeeper.ssl.ocsp.enable", BOOLEAN, False, None, LOW,
           "ZooKeeper over TLS: ask whether a certificate is revoked.", read_by="broker.membership.zookeeper_identity"),
    Config("zookeeper.ssl.protocol", STRING, "TLSv1.2", None, LOW,
           "ZooKeeper over TLS: version of the context.", read_by="broker.membership.zookeeper_identity"),
    Config("zookeeper.ssl.truststore.location", STRING, None, None, MEDIUM,
           "ZooKeeper over TLS: trusted certificates.", read_by="broker.membership.zookeeper_identity"),
    Config("zookeeper.ssl.truststore.password", PASSWORD, None, None, MEDIUM,
           "ZooKeeper over TLS: password of that file.", read_by="broker.membership.zookeeper_identity"),
    Config("zookeeper.ssl.truststore.type", STRING, None, None, MEDIUM,
           "ZooKeeper over TLS: format of that file.", read_by="broker.membership.zookeeper_identity"),
)
# fmt: on
