"""Client keys: TLS and SASL. Most share the broker's rows.

Source  SslConfigs, SaslConfigs.
"""

from __future__ import annotations

from dataclasses import replace

from kafka_zk.config.declaration import (
    BOOLEAN,
    DOUBLE,
    HIGH,
    LIST,
    LONG,
    LOW,
    MEDIUM,
    PASSWORD,
    READ_ONLY,
    SHORT,
    STRING,
    Config,
)
from kafka_zk.config.tables.broker import BROKER_KEYS
from kafka_zk.config.validators import between, one_of_ignoring_case

# fmt: off
_OWN_KEYS: tuple[Config, ...] = (
    Config("sasl.kerberos.kinit.cmd", STRING, "/usr/bin/kinit", None, LOW,
           "Path of kinit."),
    Config("sasl.kerberos.min.time.before.relogin", LONG, 60_000, None, LOW,
           "Least time between two Kerberos logins."),
    Config("sasl.kerberos.ticket.renew.jitter", DOUBLE, 0.05, None, LOW,
           "Random part of the renewal time."),
    Config("sasl.kerberos.ticket.renew.window.factor", DOUBLE, 0.8, None, LOW,
           "Share of a ticket's life after which it is renewed."),
    Config("sasl.login.refresh.buffer.seconds", SHORT, 300, between(0, 3600), LOW,
           "Time left before expiry when a credential is refreshed at the latest."),
    Config("sasl.login.refresh.min.period.seconds", SHORT, 60, between(0, 900), LOW,
           "Least time between two refreshes."),
    Config("sasl.login.refresh.window.factor", DOUBLE, 0.8, between(0.5, 1.0), LOW,
           "Share of a credential's life after which it is refreshed."),
    Config("sasl.login.refresh.window.jitter", DOUBLE, 0.05, between(0.0, 0.25), LOW,
           "Random part of the refresh time."),
    Config("sasl.mechanism", STRING, "GSSAPI", None, MEDIUM,
           "SASL mechanism of this client."),
    Config("sasl.oauthbearer.header.urlencode", BOOLEAN, False, None, LOW,
           "Encode the client id and secret in the token request as a URL."),
    Config("security.protocol", STRING, "PLAINTEXT", one_of_ignoring_case("SASL_SSL", "PLAINTEXT", "SSL",
           "SASL_PLAINTEXT"), MEDIUM,
           "How to talk to brokers: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."),
    Config("ssl.cipher.suites", LIST, None, None, LOW,
           "Cipher suites to offer; empty: all."),
    Config("ssl.key.password", PASSWORD, None, None, HIGH,
           "Password of the private key."),
    Config("ssl.keymanager.algorithm", STRING, "SunX509", None, LOW,
           "Java key manager algorithm."),
    Config("ssl.keystore.certificate.chain", PASSWORD, None, None, HIGH,
           "Certificate chain as PEM text."),
    Config("ssl.keystore.key", PASSWORD, None, None, HIGH,
           "Private key as PEM text."),
    Config("ssl.keystore.location", STRING, None, None, HIGH,
           "File of the key and its certificates."),
    Config("ssl.keystore.password", PASSWORD, None, None, HIGH,
           "Password of that file."),
    Config("ssl.trustmanager.algorithm", STRING, "PKIX", None, LOW,
           "Java trust manager algorithm."),
    Config("ssl.truststore.certificates", PASSWORD, None, None, HIGH,
           "Trusted certificates as PEM text."),
    Config("ssl.truststore.location", STRING, None, None, HIGH,
           "File of trusted certificates."),
    Config("ssl.truststore.password", PASSWORD, None, None, HIGH,
           "Password of that file."),
)
# fmt: on

# fmt: off
_AS_ON_BROKERS = (
    "sasl.client.callback.handler.class", "sasl.jaas.config", "sasl.kerberos.service.name",
    "sasl.login.callback.handler.class", "sasl.login.class", "sasl.login.connect.timeout.ms",
    "sasl.login.read.timeout.ms", "sasl.login.retry.backoff.max.ms", "sasl.login.retry.backoff.ms",
    "sasl.oauthbearer.clock.skew.seconds", "sasl.oauthbearer.expected.audience", "sasl.oauthbearer.expected.issuer",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms", "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.scope.claim.name", "sasl.oauthbearer.sub.claim.name", "sasl.oauthbearer.token.endpoint.url",
    "security.providers", "ssl.enabled.protocols", "ssl.endpoint.identification.algorithm",
    "ssl.engine.factory.class", "ssl.keystore.type", "ssl.protocol", "ssl.provider",
    "ssl.secure.random.implementation", "ssl.truststore.type",
)
# fmt: on

SECURITY_KEYS: tuple[Config, ...] = (
    *_OWN_KEYS,
    *(replace(BROKER_KEYS[name], update_mode=READ_ONLY, read_by=None) for name in _AS_ON_BROKERS),
)
