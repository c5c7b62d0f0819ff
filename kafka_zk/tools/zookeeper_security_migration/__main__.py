"""zookeeper-security-migration.sh: protects the znodes of a cluster that has had no identity, or opens them again.

Options, texts, streams and exit codes are those of Apache Kafka 3.9; lines that Apache's logs tell are not printed.
Source: kafka.admin.ZkSecurityMigrator.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from kafka_zk.config.errors import ConfigException
from kafka_zk.config.java_options import system_properties
from kafka_zk.sasl.jaas_file import LOGIN_CONFIG
from kafka_zk.tools.common.connect_string import check_connect_string
from kafka_zk.tools.common.endings import exit_code_of, run_as_program
from kafka_zk.tools.common.java_output import JavaError, illegal_argument, show_warnings, stack_trace
from kafka_zk.tools.common.options import Option, Options, UsageError
from kafka_zk.tools.common.zookeeper_identity import tool_identity
from kafka_zk.zk.errors import AuthFailed, ConnectionTimeout, NoAuth, ZkError
from kafka_zk.zk.identity import ZkIdentity
from kafka_zk.zk.session import ZkClient

DESCRIPTION = (
    "ZooKeeper Migration Tool Help. This tool updates the ACLs of znodes as part of the process of setting up "
    "ZooKeeper authentication."
)
OPTIONS = (
    Option("enable.path.check"),
    Option("help"),
    Option("version"),
    Option("zk-tls-config-file", takes_value=True),
    Option("zookeeper.acl", takes_value=True),
    Option("zookeeper.connect", takes_value=True),
    Option("zookeeper.connection.timeout", takes_value=True),
    Option("zookeeper.session.timeout", takes_value=True),
)
TIMEOUT_MS = 30_000
DEFAULT_CONNECT = "localhost:2181"


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    show_warnings()

    def tell(error: Exception) -> None:
        print(stack_trace(error), end="", file=sys.stderr)

    return exit_code_of(
        lambda: _main(given),
        tool="zookeeper_security_migration",
        tell=tell,
        failures=(JavaError, ConfigException, ZkError),
    )


def _main(arguments: Sequence[str]) -> int:
    options = Options(OPTIONS, arguments)
    options.check_help_or_version(without_arguments=DESCRIPTION, help_text=DESCRIPTION)
    identity = tool_identity(options.text("zk-tls-config-file"))
    _require_somebody(identity)
    wanted = options.text("zookeeper.acl")
    if wanted not in ("secure", "unsecure"):
        raise UsageError(DESCRIPTION)
    connect = options.text("zookeeper.connect") or DEFAULT_CONNECT
    check_connect_string(connect)
    session_timeout_ms = options.integer("zookeeper.session.timeout")
    connection_timeout_ms = options.integer("zookeeper.connection.timeout")
    zk = ZkClient(
        connect,
        session_timeout_ms=TIMEOUT_MS if session_timeout_ms is None else session_timeout_ms,
        connection_timeout_ms=TIMEOUT_MS if connection_timeout_ms is None else connection_timeout_ms,
        create_chroot=False,
        identity=identity,
        protects=wanted == "secure",
    )
    from kafka_zk.tools.zookeeper_security_migration.command import migrate

    try:
        zk.start()
        return migrate(zk, must_be_complete=options.has("enable.path.check"))
    except ConnectionTimeout as error:
        raise JavaError(str(error), "kafka.zookeeper.ZooKeeperClientTimeoutException") from None
    except AuthFailed as error:
        raise JavaError(str(error), "kafka.zookeeper.ZooKeeperClientAuthFailedException") from None
    except NoAuth as error:
        raise JavaError(str(error), "org.apache.zookeeper.KeeperException$NoAuthException") from None
    finally:
        zk.close()


def _require_somebody(identity: ZkIdentity) -> None:
    """Raises JavaError, after saying what is missing where Apache's tool says it."""
    if identity.is_somebody:
        return
    named = system_properties(os.environ).get(LOGIN_CONFIG)
    if named is None:
        print(
            "ERROR: No JAAS configuration file has been specified and no TLS client certificate has been specified. "
            f"Please make sure that you set the system property {LOGIN_CONFIG} or provide a ZooKeeper client TLS "
            "configuration via --zk-tls-config-file <filename> identifying at least zookeeper.ssl.client.enable, "
            "zookeeper.clientCnxnSocket, and zookeeper.ssl.keystore.location",
            file=sys.stderr,
        )
    else:
        print(f"ERROR: Security isn't enabled, most likely the file isn't set properly: {named}")
    raise illegal_argument("Incorrect configuration")


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
