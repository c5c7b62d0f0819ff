"""A listener with logins of its own comes and goes while the broker runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from tests.integration.security.sasl_broker import PLAIN_MODULE, sasl_overrides
from tests.support.broker import OurBroker
from tests.support.processes import free_port
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
        future.result(20)


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
        return client.list_topics(timeout=3) is not None
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
