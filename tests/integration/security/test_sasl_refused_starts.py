"""A broker whose logins cannot be what the configuration says does not start."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_zk.config.sasl_classes import TOKEN_LOGINS
from tests.integration.security.sasl_broker import OAUTH_MODULE, PREFIX, sasl_overrides
from tests.integration.test_broker_refused_start import refusal

HANDLER = f"{PREFIX}oauthbearer.sasl.server.callback.handler.class"
SIGNED = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
KEYS = "sasl.oauthbearer.jwks.endpoint.url"
JAAS = f"{PREFIX}oauthbearer.sasl.jaas.config"
NO_STORE = f'{OAUTH_MODULE} required ssl.truststore.location="/no/such" ssl.truststore.password="x";'
NO_ENTRY = "Could not find a 'KafkaServer' or 'sasl_plaintext.KafkaServer' entry in the JAAS configuration."
KERBEROS = f"{PREFIX}gssapi.sasl.jaas.config"
KERBEROS_MODULE = "com.sun.security.auth.module.Krb5LoginModule"
INITIALIZING = "The OAuth validator configuration encountered an error when initializing the VerificationKeyResolver"
LOGIN_HANDLER = "sasl.login.callback.handler.class"
JNDI = "com.sun.security.auth.module.JndiLoginModule"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {f"{PREFIX}plain.sasl.jaas.config": None, "sasl.jaas.config": f"{OAUTH_MODULE} required;"},
            f"{NO_ENTRY} System property 'java.security.auth.login.config' is not set",
        ),
        (
            {
                f"{PREFIX}plain.sasl.jaas.config": None,
                "listener.name.SASL_PLAINTEXT.plain.sasl.jaas.config": f"{OAUTH_MODULE} required;",
            },
            NO_ENTRY,
        ),
        (
            {f"{PREFIX}plain.sasl.jaas.config": f"{JNDI} required user.provider.url=x;"},
            f"{JNDI} is not allowed. Update System property 'org.apache.kafka.disallowed.login.modules' to allow",
        ),
        ({f"{PREFIX}plain.sasl.jaas.config": "x required"}, "JAAS config entry not terminated by semi-colon"),
        # GSSAPI is the default.
        ({"sasl.enabled.mechanisms": None}, NO_ENTRY),
        (
            {"sasl.enabled.mechanisms": "PLAIN,GSSAPI", KERBEROS: f"{KERBEROS_MODULE} required;"},
            "No serviceName defined in either JAAS or Kafka config",
        ),
        (
            {
                "sasl.enabled.mechanisms": "GSSAPI",
                KERBEROS: f'{KERBEROS_MODULE} required keyTab="/k" serviceName="kafka";',
            },
            "Configuration Error - useKeyTab should be set to true to use the keytab/k",
        ),
        ({"sasl.enabled.mechanisms": "DIGEST-MD5"}, "name DIGEST-MD5, which this broker does not have."),
        ({f"{PREFIX}plain.sasl.server.callback.handler.class": "com.example.Mine"}, "Class com.example.Mine"),
        ({HANDLER: None}, "OAUTHBEARER needs sasl.server.callback.handler.class"),
        ({HANDLER: SIGNED}, "sasl.oauthbearer.jwks.endpoint.url value must be non-null"),
        (
            {HANDLER: SIGNED, "sasl.oauthbearer.jwks.endpoint.url": "ftp://h/keys"},
            'contains an invalid protocol (ftp); only "http", "https", and "file" protocol are supported',
        ),
        ({HANDLER: SIGNED, KEYS: "https://h/keys", JAAS: NO_STORE}, "Failed to load SSL keystore /no/such of type JKS"),
        (
            {HANDLER: SIGNED, KEYS: "http://h/keys", "sasl.oauthbearer.jwks.endpoint.refresh.ms": "0"},
            "JWKS validation key refresh configuration value retryWaitMs value must be positive",
        ),
        ({f"{PREFIX}oauthbearer.{LOGIN_HANDLER}": "com.example.Mine"}, "Class com.example.Mine could not be found."),
        ({f"{PREFIX}plain.{LOGIN_HANDLER}": TOKEN_LOGINS[0]}, f"Class {TOKEN_LOGINS[0]} could not be found."),
        ({f"{PREFIX}oauthbearer.sasl.login.class": "com.example.Mine"}, "Class com.example.Mine could not be found."),
    ],
)
def test_a_login_that_cannot_be_set_up_stops_the_start_before_zookeeper_is_asked(
    tmp_path: Path, changes: dict[str, str | None], message: str
) -> None:
    """(security 12.2 and, for SASL, 12.4)"""
    overrides = {**sasl_overrides(), **changes}
    said = refusal(tmp_path, overrides={key: value for key, value in overrides.items() if value is not None})
    assert message in said
    assert "alice-secret" not in said


def test_kerberos_without_its_library_stops_the_start_and_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "gssapi.py").write_text("raise ImportError('none here')\n")
    overrides = sasl_overrides(
        {
            "sasl.enabled.mechanisms": "GSSAPI",
            KERBEROS: f'{KERBEROS_MODULE} required useKeyTab=true keyTab="/k" principal="kafka/h" serviceName="kafka";',
        }
    )
    said = refusal(tmp_path / "broker", overrides=overrides, environ={"PYTHONPATH": str(tmp_path)})
    assert "The listener SASL_PLAINTEXT cannot be used: GSSAPI needs a Kerberos library, which is not installed" in said
    assert "pip install 'kafka_zk[kerberos]'" in said


def test_the_file_of_signing_keys_must_be_there_and_is_shown_nowhere(tmp_path: Path, zookeeper_connect: str) -> None:
    """CVE-2025-27817"""
    secret = tmp_path / "secret"
    secret.write_text("very secret text")
    option = "The OAuth configuration option sasl.oauthbearer.jwks.endpoint.url"
    for name, url, reason in (
        ("text", secret.as_uri(), f"{INITIALIZING}: the answer is no JSON"),
        ("none", "file:///no/such", f"{option} contains a file (/no/such) that doesn't exist"),
    ):
        overrides = sasl_overrides({HANDLER: SIGNED, "sasl.oauthbearer.jwks.endpoint.url": url})
        said = refusal(tmp_path / name, zookeeper_connect, overrides)
        assert reason in said
        assert "very secret" not in said
