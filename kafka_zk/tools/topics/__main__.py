"""kafka-topics.sh: create, list, describe, alter and delete topics.

`--bootstrap-server` asks brokers as Apache Kafka 3.9's tool does; the legacy `--zookeeper host:port[/chroot]` reads and
writes ZooKeeper itself as that of 2.8 did. Options, texts, streams and exit codes are Apache's.
Source: org.apache.kafka.tools.TopicCommand (3.9), kafka.admin.TopicCommand (2.8).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kafka_zk.tools.common.command_config import api_timeout_ms, client_properties
from kafka_zk.tools.common.endings import exit_code_of, run_as_program
from kafka_zk.tools.common.failures import FAILURES
from kafka_zk.tools.common.java_output import log_error, show_warnings, stack_trace
from kafka_zk.tools.common.options import Options
from kafka_zk.tools.topics.options import OPTIONS, check_for_bootstrap_server

LOGGER = "org.apache.kafka.tools.TopicCommand"
FAILURE_TEXT = "Error while executing topic command : "


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    if _wants_zookeeper(given):
        from kafka_zk.tools.topics.zookeeper import main as main_with_zookeeper

        return main_with_zookeeper(given)
    return exit_code_of(lambda: _main(given), tool="topics")


def _wants_zookeeper(arguments: Sequence[str]) -> bool:
    return any(argument.lstrip("-").partition("=")[0] == "zookeeper" and argument[0] == "-" for argument in arguments)


def _main(arguments: Sequence[str]) -> int:
    options = Options(OPTIONS, arguments)
    check_for_bootstrap_server(options)
    properties = client_properties(options)
    show_warnings(api_timeout_ms(properties))
    from kafka_zk.client.admin.admin_client import AdminClient
    from kafka_zk.tools.topics import bootstrap

    with AdminClient(properties) as admin:
        try:
            bootstrap.run(options, admin)
        except FAILURES as error:
            print(f"{FAILURE_TEXT}{error}")
            log_error(LOGGER, stack_trace(error))
            return 1
    return 0


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
