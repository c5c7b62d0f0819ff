"""A real ZooKeeper that knows its clients: by DIGEST-MD5, and by certificates on a second port with TLS."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.handlers.gevent import SequentialGeventHandler

from kafka_zk.zk.identity import DigestLogin
from kafka_zk.zk.kazoo_login import LoggedInClient, LoggedInConnection, with_connection
from tests.support.certificates import LOOPBACK, CertificateAuthority, Stores
from tests.support.certificates import PASSWORD as STORE_PASSWORD
from tests.support.processes import free_port
from tests.support.zookeeper import EmbeddedZooKeeper

USERS = {"kafka": "kafka-Secret", "other": "other-Secret"}
"""The names and passwords that the server knows."""

_PROVIDERS = "org.apache.zookeeper.server.auth"
_files = itertools.count(1)
_DIGEST = f"{_PROVIDERS}.DigestLoginModule"


class SecureZooKeeper(EmbeddedZooKeeper):
    """`tls_connect` is its port with TLS, where clients must have a certificate of `authority`."""

    def __init__(self, folder: Path, *, sans: Sequence[str] = LOOPBACK) -> None:
        self.folder = folder
        self.authority = CertificateAuthority()
        self.tls_port = free_port()
        stores = self.authority.issue("zookeeper", folder / "server", sans=sans)
        users = " ".join(f"user_{name}={_quoted(password)}" for name, password in USERS.items())
        properties = {
            "authProvider.1": f"{_PROVIDERS}.SASLAuthenticationProvider",
            "authProvider.2": f"{_PROVIDERS}.X509AuthenticationProvider",
            "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
            "secureClientPort": str(self.tls_port),
            "secureClientPortAddress": "127.0.0.1",
            "ssl.keyStore.location": str(stores.keystore_p12),
            "ssl.keyStore.password": STORE_PASSWORD,
            "ssl.trustStore.location": str(stores.truststore_p12),
            "ssl.trustStore.password": STORE_PASSWORD,
            "ssl.clientAuth": "need",
            "ssl.enabledProtocols": "TLSv1.2,TLSv1.3",
        }
        super().__init__(folder, jaas=f"Server {{ {_DIGEST} required {users}; }};\n", properties=properties)

    @property
    def tls_connect(self) -> str:
        return f"127.0.0.1:{self.tls_port}"

    def kafka_opts(self, user: str = "kafka", password: str | None = None) -> str:
        """KAFKA_OPTS of a program that logs in as `user`."""
        file = self.folder / f"client-{next(_files)}.jaas"
        secret = USERS[user] if password is None else password
        file.write_text(
            f"Client {{\n  {_DIGEST} required\n  username={_quoted(user)}\n  password={_quoted(secret)};\n}};\n"
        )
        return f"-Djava.security.auth.login.config={file}"

    def client_stores(self, name: str = "broker") -> Stores:
        return self.authority.issue(name, self.folder / name)


def tls_properties(stores: Stores) -> dict[str, str]:
    """What a program says to reach a ZooKeeper over TLS, with the certificate of `stores`."""
    return {
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
        "zookeeper.ssl.keystore.location": str(stores.keystore_p12),
        "zookeeper.ssl.keystore.password": STORE_PASSWORD,
        "zookeeper.ssl.truststore.location": str(stores.truststore_p12),
        "zookeeper.ssl.truststore.password": STORE_PASSWORD,
    }


def acls(connect: str, user: str = "kafka") -> dict[str, list[str]]:
    """Of every znode below `connect`, as getAcl shows it to `user`; [] where it may not."""
    client = LoggedInClient(connect, timeout=30, handler=SequentialGeventHandler())
    with_connection(client, LoggedInConnection, DigestLogin(user, USERS[user]))
    client.start()
    try:
        return {path: _acl(client, path) for path in _paths(client, "/") if not path.startswith("/zookeeper")}
    finally:
        client.stop()
        client.close()


def _paths(client: KazooClient, path: str) -> list[str]:
    found = [path]
    try:
        names = sorted(client.get_children(path))
    except Exception:
        return found
    for name in names:
        found += _paths(client, f"{path.rstrip('/')}/{name}")
    return found


def _acl(client: KazooClient, path: str) -> list[str]:
    try:
        return sorted(str(entry) for entry in client.get_acls(path)[0])
    except Exception:
        return []


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
