"""A listener with logins of its own comes and goes while the broker runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from kafka_zk.sasl.jaas import OAUTHBEARER as TOKEN_MODULE
from kafka_zk.security.authentication.settings import SIGNED_VALIDATORS
from tests.integration.security.sasl_broker import PLAIN_MODULE, sasl_overrides
from tests.support.broker import OurBroker
from tests.support.processes import accepts_connections, free_port
from tests.support.zookeeper import eventually

JNDI = "com.sun.security.auth.module.JndiLoginModule"


def change(bootstrap: str, **values: str) -> None:
    """Blocks. Sets configs of broker 0; raises KafkaException."""
    entries = [
        ConfigEntry(name.replace("__", "."), value, incremental_operation=AlterConfigOpType.SET)
        for name, value in values.items()
    ]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    resource = ConfigResource(ConfigResource.Type.BROKER, "0", incremental_configs=entries)
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(60)


def may_log_in(bootstrap: str, user: str, password: str) -> bool:
    client = AdminClient(
        {
            "bootstrap.servers": bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": user,
            "sasl.password": password,
        }
    )
    try:
        return client.list_topics(timeout=20) is not None
    except KafkaException:
        return False


def test_a_new_listener_has_the_users_that_came_with_it(tmp_path: Path, zookeeper_connect: str) -> None:
    overrides = sasl_overrides({"password.encoder.secret": "secret"})
    broker = OurBroker(tmp_path, zookeeper_connect, overrides=overrides).start()
    try:
        plaintext = overrides["listeners"].rpartition("://")[2]
        added = f"127.0.0.1:{free_port()}"
        with_added = f"{overrides['listeners']},NEW://{added}"
        protocols = "SASL_PLAINTEXT:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT,NEW:SASL_PLAINTEXT"
        new = {
            "listeners": with_added,
            "listener__security__protocol__map": protocols,
            "listener__name__new__sasl__enabled__mechanisms": "PLAIN",
        }
        with pytest.raises(KafkaException, match="Could not find a 'KafkaServer' or 'new"):
            change(plaintext, **new)
        jaas = "listener__name__new__plain__sasl__jaas__config"
        with pytest.raises(KafkaException, match=f"{JNDI} is not allowed"):
            # CVE-2023-25194: nothing of the kind reaches ZooKeeper.
            change(plaintext, **{jaas: f"{JNDI} required;"})
        change(plaintext, **new, **{jaas: f'{PLAIN_MODULE} required user_carol="carol-secret";'})
        eventually(lambda: may_log_in(added, "carol", "carol-secret"))
        assert not may_log_in(added, "alice", "alice-secret")
        assert may_log_in(broker.bootstrap, "alice", "alice-secret")
        change(plaintext, listeners=overrides["listeners"])
        eventually(lambda: not may_log_in(added, "carol", "carol-secret"))
    finally:
        broker.stop()
    said = broker.process.output()
    assert "carol-secret" not in said and "alice-secret" not in said


def test_a_removed_listener_is_closed_although_another_cannot_be_opened(tmp_path: Path, zookeeper_connect: str) -> None:
    old_port = free_port()
    protocols = "SASL_PLAINTEXT:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT,OLD:PLAINTEXT,TOKENS:SASL_PLAINTEXT"
    overrides = sasl_overrides({"listener.security.protocol.map": protocols, "password.encoder.secret": "secret"})
    overrides["listeners"] += f",OLD://127.0.0.1:{old_port}"
    broker = OurBroker(tmp_path, zookeeper_connect, overrides=overrides).start()
    try:
        kept = overrides["listeners"].rpartition(",")[0]
        plaintext = kept.rpartition("://")[2]
        nobody = free_port()
        change(
            plaintext,
            listeners=f"{kept},TOKENS://127.0.0.1:{free_port()}",
            listener__name__tokens__sasl__enabled__mechanisms="OAUTHBEARER",
            listener__name__tokens__oauthbearer__sasl__jaas__config=f"{TOKEN_MODULE} required;",
            listener__name__tokens__oauthbearer__sasl__server__callback__handler__class=SIGNED_VALIDATORS[0],
            listener__name__tokens__oauthbearer__sasl__oauthbearer__jwks__endpoint__url=f"http://127.0.0.1:{nobody}/",
        )
        eventually(lambda: not accepts_connections(old_port))
        assert accepts_connections(int(plaintext.rpartition(":")[2]))
        # Asked for three times before it is given up.
        eventually(lambda: "an error when initializing the VerificationKeyResolver" in broker.process.output())
    finally:
        broker.stop()
