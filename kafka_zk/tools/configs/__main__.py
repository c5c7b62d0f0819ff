"""kafka-configs.sh: describe and alter configurations, quotas and SCRAM credentials.

`--bootstrap-server` asks brokers; `--zookeeper host:port[/chroot]` reads and writes ZooKeeper itself, for what must be
set before a broker starts. Options, texts, streams and exit codes are those of Apache Kafka 3.9.
Source: kafka.admin.ConfigCommand.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kafka_zk.protocol.errors import InvalidConfig
from kafka_zk.tools.common.command_config import API_TIMEOUT_MS, client_properties
from kafka_zk.tools.common.endings import exit_code_of, run_as_program
from kafka_zk.tools.common.java_output import JavaError, illegal_argument, show_warnings, stack_trace
from kafka_zk.tools.common.options import OptionError, Options
from kafka_zk.tools.configs.options import OPTIONS, Entities, check

DESCRIPTION = (
    "This tool helps to manipulate and describe entity config for a topic, client, user, broker, ip or client-metrics"
)
# Errors that Apache's tool reports in one sentence; for all others it prints a trace.
_SENTENCES = ("java.lang.IllegalArgumentException", "java.lang.NumberFormatException")


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    show_warnings(API_TIMEOUT_MS)

    def tell(error: Exception) -> None:
        if _is_told_shortly(error):
            print(error, file=sys.stderr)
        else:
            print(f"Error while executing config command with args '{' '.join(given)}'", file=sys.stderr)
            print(stack_trace(error), end="", file=sys.stderr)

    return exit_code_of(lambda: _main(given), tool="configs", tell=tell)


def _is_told_shortly(error: Exception) -> bool:
    if isinstance(error, JavaError):
        return isinstance(error, OptionError) or error.java_class in _SENTENCES
    return isinstance(error, InvalidConfig)


def _main(arguments: Sequence[str]) -> None:
    options = Options(OPTIONS, arguments)
    options.check_help_or_version(without_arguments=DESCRIPTION, help_text=DESCRIPTION)
    found = check(options)
    if options.has("zookeeper"):
        from kafka_zk.tools.configs import zookeeper

        print("Warning: --zookeeper is deprecated and will be removed in a future version of Kafka.")
        print("Use --bootstrap-server instead to specify a broker to connect to.")
        zookeeper.run(options, found)
    elif options.has("bootstrap-controller"):
        raise illegal_argument("--bootstrap-controller is for clusters without ZooKeeper, which are not supported.")
    else:
        _ask_brokers(options, found)


def _ask_brokers(options: Options, found: Entities) -> None:
    from kafka_zk.client.admin.admin_client import AdminClient
    from kafka_zk.tools.configs import bootstrap

    with AdminClient(client_properties(options)) as admin:
        if options.has("alter") and len(found.types) != len(found.names):
            raise illegal_argument("An entity name must be specified for every entity type")
        bootstrap.run(options, found, admin)


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
