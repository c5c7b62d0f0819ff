"""A broker with a SASL_PLAINTEXT listener for clients and a PLAINTEXT one for brokers."""

from __future__ import annotations

from collections.abc import Mapping

from tests.support.processes import free_port

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
UNSECURED = (
    "org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
)

PREFIX = "listener.name.sasl_plaintext."


def sasl_overrides(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Properties of a broker whose users alice and bob log in with PLAIN; SCRAM and unsecured tokens work, too.

    Ours and Apache's alike.
    """
    users = 'user_alice="alice-secret" user_bob="bob-secret"'
    return {
        "listeners": f"SASL_PLAINTEXT://127.0.0.1:{free_port()},PLAINTEXT://127.0.0.1:{free_port()}",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        f"{PREFIX}plain.sasl.jaas.config": f"{PLAIN_MODULE} required {users};",
        f"{PREFIX}scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        f"{PREFIX}scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        f"{PREFIX}oauthbearer.sasl.jaas.config": f'{OAUTH_MODULE} required unsecuredLoginStringClaim_sub="broker";',
        f"{PREFIX}oauthbearer.sasl.server.callback.handler.class": UNSECURED,
        "auto.create.topics.enable": "true",
        **(more or {}),
    }
