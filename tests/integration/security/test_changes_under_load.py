"""Certificates, users and protocols change while a producer writes: no record that was acknowledged is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import ConfigChange, ConfigOperation, ConfigResource, NewTopic, ResourceType
from kafka_zk.client.admin.scram import ScramDeletion, ScramMechanism, ScramUpsertion
from kafka_zk.client.errors import SaslAuthenticationException
from tests.integration.security.sasl_broker import PLAIN_MODULE, SCRAM_MODULE
from tests.support.broker import OurBroker
from tests.support.certificates import PASSWORD, CertificateAuthority, Stores
from tests.support.processes import free_port, wait_until
from tests.support.writer import Writer, read_all
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

TOPIC = "written"
PARTITIONS = 2
ROUNDS = 3
OWN = f'{PLAIN_MODULE} required username="broker" password="secret" user_broker="secret" user_alice="alice";'


def properties(stores: Stores, listeners: str, inner: str) -> dict[str, str]:
    return {
        "listeners": listeners,
        "inter.broker.listener.name": inner,
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": OWN,
        "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(stores.keystore_p12),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(stores.ca_pem),
        "password.encoder.secret": "encoder",
        "min.insync.replicas": "1",
        "default.replication.factor": "2",
    }


def login(bootstrap: str, stores: Stores, user: str = "alice", mechanism: str = "PLAIN") -> dict[str, str]:
    module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE
    return {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{module} required username="{user}" password="alice";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(stores.ca_pem),
    }


@contextmanager
def cluster(folder: Path, connect: str, overrides: list[dict[str, str]]) -> Iterator[list[OurBroker]]:
    brokers = [broker(folder, connect, index, each) for index, each in enumerate(overrides)]
    try:
        for each in brokers:
            each.start()
        yield brokers
    finally:
        for each in brokers:
            each.kill()


def broker(folder: Path, connect: str, broker_id: int, overrides: Mapping[str, str]) -> OurBroker:
    return OurBroker(folder / str(broker_id), connect, broker_id=broker_id, overrides=overrides)


def in_sync(admin: AdminClient) -> bool:
    return all(len(each.isr) == 2 for each in admin.describe_topics([TOPIC])[TOPIC].partitions)


def test_certificates_and_users_change_while_records_are_written(zookeeper: ZooKeeperServer, tmp_path: Path) -> None:
    authority = CertificateAuthority()
    stores = authority.issue("broker", tmp_path / "keys")
    ports = [free_port(), free_port()]
    given = [properties(stores, f"SASL_SSL://127.0.0.1:{port}", "SASL_SSL") for port in ports]
    bootstrap = ",".join(f"127.0.0.1:{port}" for port in ports)
    with cluster(tmp_path, fresh_chroot(zookeeper, "changes"), given), AdminClient(login(bootstrap, stores)) as admin:
        wait_until(lambda: len(admin.describe_cluster().nodes) == 2, "both are there")
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 2)])
        with Writer(login(bootstrap, stores), TOPIC, PARTITIONS) as writer:
            for turn in range(ROUNDS):
                writer.goes_on()
                new = authority.issue("broker", tmp_path / f"keys-{turn}")
                for broker_id in range(2):
                    key = "listener.name.sasl_ssl.ssl.keystore.location"
                    change = ConfigChange(key, ConfigOperation.SET, str(new.keystore_p12))
                    admin.incremental_alter_configs({ConfigResource(ResourceType.BROKER, str(broker_id)): [change]})
                user = f"user-{turn}"
                admin.alter_user_scram_credentials(
                    upsertions=[ScramUpsertion(user, ScramMechanism.SCRAM_SHA_256, b"alice")]
                )
                wait_until(partial(_logs_in, bootstrap, stores, user), "the user may log in")
                admin.alter_user_scram_credentials(deletions=[ScramDeletion(user, ScramMechanism.SCRAM_SHA_256)])
                wait_until(partial(_is_refused, bootstrap, stores, user), "the user may not any more")
            writer.goes_on()
        read = read_all(login(bootstrap, stores), TOPIC, PARTITIONS, len(writer.acked))
        assert set(writer.acked) <= set(read) and len(read) == len(set(read))
        assert in_sync(admin)


def _logs_in(bootstrap: str, stores: Stores, user: str) -> bool:
    try:
        with AdminClient(login(bootstrap, stores, user, "SCRAM-SHA-256")) as admin:
            admin.list_topics()
    except SaslAuthenticationException:
        return False
    return True


def _is_refused(bootstrap: str, stores: Stores, user: str) -> bool:
    return not _logs_in(bootstrap, stores, user)


def test_a_cluster_goes_from_plain_text_to_sasl_ssl_by_restarts(zookeeper: ZooKeeperServer, tmp_path: Path) -> None:
    """Add the listener, move the brokers, move the clients, remove the old one: each step one restart a broker."""
    stores = CertificateAuthority().issue("broker", tmp_path / "keys")
    plain, secured = [free_port(), free_port()], [free_port(), free_port()]
    connect = fresh_chroot(zookeeper, "switched")

    def given(step: int, index: int) -> dict[str, str]:
        old, new = f"PLAINTEXT://127.0.0.1:{plain[index]}", f"SASL_SSL://127.0.0.1:{secured[index]}"
        listeners = (old, f"{old},{new}", f"{old},{new}", new)[step]
        return properties(stores, listeners, "PLAINTEXT" if step < 2 else "SASL_SSL")

    old_bootstrap = ",".join(f"127.0.0.1:{port}" for port in plain)
    new_bootstrap = ",".join(f"127.0.0.1:{port}" for port in secured)
    with cluster(tmp_path, connect, [given(0, index) for index in range(2)]) as brokers:

        def roll(step: int, config: Mapping[str, str]) -> None:
            for index in range(2):
                brokers[index].stop()
                brokers[index] = broker(tmp_path, connect, index, given(step, index)).start()
                with AdminClient(config) as admin:
                    wait_until(partial(in_sync, admin), "the replicas are in sync")

        with AdminClient({"bootstrap.servers": old_bootstrap}) as admin:
            wait_until(lambda: len(admin.describe_cluster().nodes) == 2, "both are there")
            admin.create_topics([NewTopic(TOPIC, PARTITIONS, 2)])
        with Writer({"bootstrap.servers": old_bootstrap}, TOPIC, PARTITIONS) as before:
            for step in (1, 2):
                before.goes_on()
                roll(step, {"bootstrap.servers": old_bootstrap})
            before.goes_on()
        with Writer(login(new_bootstrap, stores), TOPIC, PARTITIONS) as after:
            after.goes_on()
            roll(3, login(new_bootstrap, stores))
            after.goes_on()
        read = read_all(login(new_bootstrap, stores), TOPIC, PARTITIONS, len(before.acked) + len(after.acked))
        assert Counter(read) == Counter(before.acked) + Counter(after.acked)
