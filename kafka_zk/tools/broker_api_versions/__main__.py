"""kafka-broker-api-versions.sh: which request versions each broker supports.

Source      kafka.admin.BrokerApiVersionsCommand, NodeApiVersions.toString.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kafka_zk.client.errors import DisconnectException, KafkaException
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.tools.common.command_config import api_timeout_ms, client_properties
from kafka_zk.tools.common.endings import exit_code_of, run_as_program, tell_as_thrown
from kafka_zk.tools.common.failures import FAILURES
from kafka_zk.tools.common.java_output import JavaError, show_warnings, stack_trace
from kafka_zk.tools.common.options import Option, Options

if TYPE_CHECKING:
    from kafka_zk.client.admin.admin_results import Node
    from kafka_zk.protocol.messages.api_versions import ApiVersion

ABOUT = "This tool helps to retrieve broker version information."
OPTIONS = (
    *(Option(name, True) for name in ("bootstrap-server", "command-config")),
    *(Option(name) for name in ("help", "version")),
)
NOT_OF_ZOOKEEPER_MODE = {
    55: "DescribeQuorum",
    64: "UnregisterBroker",
    71: "GetTelemetrySubscriptions",
    72: "PushTelemetry",
    74: "ListClientMetricsResources",
    75: "DescribeTopicPartitions",
    76: "ShareGroupHeartbeat",
    77: "ShareGroupDescribe",
    78: "ShareFetch",
    79: "ShareAcknowledge",
    80: "AddRaftVoter",
    81: "RemoveRaftVoter",
    83: "InitializeShareGroupState",
    84: "ReadShareGroupState",
    85: "WriteShareGroupState",
    86: "DeleteShareGroupState",
    87: "ReadShareGroupStateSummary",
}
"""Requests that Kafka 3.9's clients may send to other brokers, and that are listed, too."""


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    return exit_code_of(lambda: _run(words), tool="broker_api_versions", tell=tell_as_thrown)


def _run(arguments: list[str]) -> None:
    options = Options(OPTIONS, arguments)
    options.check_help_or_version(without_arguments=ABOUT, help_text=ABOUT)
    options.require("bootstrap-server")
    properties = client_properties(options)
    show_warnings(api_timeout_ms(properties))
    from kafka_zk.client.admin.admin_client import AdminClient

    try:
        admin = AdminClient(properties)
    except KafkaException as error:
        # Apache's tool has a client of its own here, which wraps nothing.
        raise (error.__cause__ if isinstance(error.__cause__, FAILURES) else error) from None
    with admin:
        try:
            described = admin.describe_api_versions()
        except DisconnectException:
            servers = ", ".join(
                f"{server} (id: {-1 - index} rack: null)"
                for index, server in enumerate(properties["bootstrap.servers"].split(","))
            )
            raise JavaError(
                f"Request METADATA failed on brokers List({servers})", "java.lang.RuntimeException"
            ) from None
    for node, found in described.items():
        print(f"{_name_of(node)} -> {versions_text(found) if isinstance(found, list) else _error_text(found)}")


def _name_of(node: Node) -> str:
    return f"{node.host}:{node.port} (id: {node.id} rack: {'null' if node.rack is None else node.rack})"


def _error_text(error: Exception) -> str:
    return f"ERROR: {stack_trace(error).partition(chr(10))[0]}"


def versions_text(versions: Iterable[ApiVersion]) -> str:
    """One line for each API that the broker knows, or that a client could ask for."""
    lines = {key: f"{name}({key}): UNSUPPORTED" for key, name in NOT_OF_ZOOKEEPER_MODE.items()}
    lines |= {key: f"{api.name}({key}): UNSUPPORTED" for key, api in API_TABLE.items()}
    lines |= {each.api_key: _line(each) for each in versions}
    return "(\n\t" + ",\n\t".join(lines[key] for key in sorted(lines)) + "\n)"


def _line(each: ApiVersion) -> str:
    lowest, highest = each.min_version, each.max_version
    text = str(lowest) if lowest == highest else f"{lowest} to {highest}"
    api = API_TABLE.get(each.api_key)
    if api is None:
        return f"{NOT_OF_ZOOKEEPER_MODE.get(each.api_key, 'UNKNOWN')}({each.api_key}): {text}"
    if api.max_version < lowest:
        usable = "unusable: node too new"
    elif highest < api.min_version:
        usable = "unusable: node too old"
    else:
        usable = f"usable: {min(api.max_version, highest)}"
    return f"{api.name}({each.api_key}): {text} [{usable}]"


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
