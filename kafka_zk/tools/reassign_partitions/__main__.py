"""kafka-reassign-partitions.sh: moves replicas of partitions between brokers and between log directories.

`--bootstrap-server` asks brokers as Apache Kafka 3.9's tool does; the legacy `--zookeeper host:port[/chroot]` reads and
writes ZooKeeper itself as that of 2.8 did. Options, texts, streams and exit codes are Apache's. `--drain` and
`--balance` are not in Apache's tool.
Source: org.apache.kafka.tools.reassign.ReassignPartitionsCommand (3.9), kafka.admin.ReassignPartitionsCommand (2.8).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kafka_zk.tools.common.command_config import api_timeout_ms, read_command_config
from kafka_zk.tools.common.endings import exit_code_of, run_as_program, tell_as_thrown
from kafka_zk.tools.common.java_output import show_warnings
from kafka_zk.tools.common.options import Options
from kafka_zk.tools.reassign_partitions.ends import after_interrupt, told
from kafka_zk.tools.reassign_partitions.options import OPTIONS, checked_action

CLIENT_ID = "reassign-partitions-tool"
TOOL = "reassign_partitions"


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    if names(given, "drain") or names(given, "balance"):
        from kafka_zk.tools.reassign_partitions.spread_command import main as main_of_spread

        return main_of_spread(given)
    if names(given, "zookeeper"):
        from kafka_zk.tools.reassign_partitions.zookeeper import main as main_with_zookeeper

        return main_with_zookeeper(given, _run)
    return exit_code_of(lambda: _main(given), tool=TOOL, tell=tell_as_thrown)


def names(arguments: Sequence[str], option: str) -> bool:
    """Whether an option is among the arguments, with one dash or two, with a value or without."""
    return any(each.lstrip("-").partition("=")[0] == option and each[:1] == "-" for each in arguments)


def _main(arguments: Sequence[str]) -> int:
    options = Options(OPTIONS, arguments)
    action = checked_action(options)
    return told(lambda: _run(action, options), interrupted=after_interrupt(action, options))


def _run(action: str, options: Options) -> None:
    from_file = read_command_config(options.text("command-config"))
    properties = {"client.id": CLIENT_ID, **from_file, "bootstrap.servers": options.text("bootstrap-server") or ""}
    show_warnings(api_timeout_ms(properties))
    from kafka_zk.client.admin.admin_client import AdminClient
    from kafka_zk.tools.reassign_partitions import bootstrap

    with AdminClient(properties) as admin:
        bootstrap.run(action, options, admin)


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
