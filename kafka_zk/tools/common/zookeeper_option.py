"""--zookeeper host:port[/chroot]: a session for a tool that goes past the brokers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import gevent

from kafka_zk.tools.common.connect_string import check_connect_string
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.common.options import Options
from kafka_zk.tools.common.zookeeper_identity import tool_identity
from kafka_zk.zk.errors import AuthFailed, ConnectionTimeout
from kafka_zk.zk.session import ZkClient

CONNECTION_TIMEOUT_MS = 30_000


@contextmanager
def connected(options: Options, *, tls_config_file: str | None = None) -> Iterator[ZkClient]:
    """A session that ends with the context. Blocks until it is established. Raises JavaError if no ZooKeeper answers
    or the address is invalid."""
    connect = options.text("zookeeper") or ""
    check_connect_string(connect)
    # gevent would print a Ctrl-C that arrives in its loop before raising it where we wait.
    hub = gevent.get_hub()
    hub.NOT_ERROR = (*hub.NOT_ERROR, KeyboardInterrupt)
    identity = tool_identity(tls_config_file)
    zk = ZkClient(
        connect,
        session_timeout_ms=CONNECTION_TIMEOUT_MS,
        create_chroot=False,
        identity=identity,
        protects=identity.is_somebody,
    )
    try:
        zk.start()
    except ConnectionTimeout as error:
        raise JavaError(str(error), "kafka.zookeeper.ZooKeeperClientTimeoutException") from None
    except AuthFailed as error:
        raise JavaError(str(error), "kafka.zookeeper.ZooKeeperClientAuthFailedException") from None
    try:
        yield zk
    finally:
        zk.close()
