"""kafka-cluster.sh: the id of a cluster; unregistering brokers is for KRaft clusters only.

Source      org.apache.kafka.tools.ClusterTool.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from kafka_zk.tools.common.argparse4j import INTEGER, Argument, ArgumentParser
from kafka_zk.tools.common.command_config import api_timeout_ms, read_command_config
from kafka_zk.tools.common.endings import exit_code_of, run_as_program
from kafka_zk.tools.common.failures import FAILURES
from kafka_zk.tools.common.java_output import execution_error, show_warnings
from kafka_zk.tools.common.subcommands import choose_command

COMMON = (
    Argument("--bootstrap-server", group="servers", short="-b"),
    Argument("--bootstrap-controller", group="servers", short="-C"),
    Argument("--config", short="-c"),
)
PROGRAM = ArgumentParser("kafka-cluster", (), "cluster")
COMMANDS = {
    "cluster-id": ArgumentParser("kafka-cluster", COMMON, "cluster", "cluster-id"),
    "unregister": ArgumentParser(
        "kafka-cluster", (*COMMON, Argument("--id", INTEGER, required=True, short="-i")), "cluster", "unregister"
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = choose_command(PROGRAM, COMMANDS, list(sys.argv[1:] if arguments is None else arguments))
    return chosen if isinstance(chosen, int) else exit_code_of(lambda: _run(*chosen), tool="cluster")


def _run(command: str, values: Mapping[str, Any]) -> None:
    servers = values["bootstrap-server"] or values["bootstrap-controller"]
    properties = {**read_command_config(values["config"]), "bootstrap.servers": servers}
    show_warnings(api_timeout_ms(properties))
    from kafka_zk.client.admin.admin_client import AdminClient

    with AdminClient(properties) as admin:
        try:
            cluster_id = admin.describe_cluster(
                of_controllers=values["bootstrap-server"] is None,
                call_name="unregisterBroker" if command == "unregister" else "listNodes",
            ).cluster_id
        except FAILURES as error:
            raise execution_error(error) from error
    if command == "unregister":
        # Brokers in ZooKeeper mode leave the list by themselves, when their sessions end.
        print("The target cluster does not support the broker unregistration API.")
    else:
        print(f"Cluster ID: {cluster_id}")


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
