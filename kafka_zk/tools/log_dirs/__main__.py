"""kafka-log-dirs.sh: what is in the log directories of brokers, as JSON.

Source      org.apache.kafka.tools.LogDirsCommand.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_zk.client.errors import java_name
from kafka_zk.tools.common.command_config import api_timeout_ms, read_command_config
from kafka_zk.tools.common.endings import exit_code_of, run_as_program
from kafka_zk.tools.common.failures import FAILURES, Refused
from kafka_zk.tools.common.java_output import (
    JavaError,
    execution_error,
    hash_order,
    hash_order_by,
    partition_order,
    show_warnings,
)
from kafka_zk.tools.common.java_values import java_integer, java_split
from kafka_zk.tools.common.options import Option, Options

if TYPE_CHECKING:
    from kafka_zk.client.admin.log_dirs import LogDirDescription

ABOUT = "This tool helps to query log directory usage on the specified brokers."
CLIENT_ID = "log-dirs-tool"
OPTIONS = (
    *(Option(name, True) for name in ("bootstrap-server", "broker-list", "command-config", "topic-list")),
    *(Option(name) for name in ("describe", "help", "version")),
)


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    return exit_code_of(lambda: _run(words), tool="log_dirs")


def _run(arguments: list[str]) -> None:
    options = Options(OPTIONS, arguments)
    options.check_help_or_version(without_arguments=ABOUT, help_text=ABOUT)
    options.require("bootstrap-server", "describe")
    properties = _properties(options)
    show_warnings(api_timeout_ms(properties))
    from kafka_zk.client.admin.admin_client import AdminClient

    with AdminClient(properties) as admin:
        topics = set(_words(options, "topic-list"))
        try:
            living = [node.id for node in admin.describe_cluster().nodes]
            wanted = _broker_ids(options)
            if missing := [each for each in wanted if each not in living]:
                raise Refused(
                    f"ERROR: The given brokers do not exist from --broker-list: {_in_hash_order(missing)}. "
                    f"Current existent brokers: {_in_hash_order(living)}"
                )
            asked = wanted or living
            print("Querying brokers for log directories information")
            described = admin.describe_log_dirs(asked)
        except JavaError:
            raise
        except FAILURES as error:
            raise execution_error(error) from error
    print(f"Received log directory information from brokers {_in_hash_order(asked)}")
    print(as_json(described, topics))


def _properties(options: Options) -> dict[str, str]:
    from_file = read_command_config(options.text("command-config"))
    return {"bootstrap.servers": options.text("bootstrap-server") or "", "client.id": CLIENT_ID, **from_file}


def _words(options: Options, name: str) -> list[str]:
    return [word for word in java_split(options.text(name) or "", ",") if word]


def _broker_ids(options: Options) -> list[int]:
    try:
        return list(dict.fromkeys(java_integer(word) for word in _words(options, "broker-list")))
    except ValueError as error:
        raise JavaError(str(error), "java.lang.NumberFormatException") from None


def _in_hash_order(ids: Iterable[int]) -> str:
    return ",".join(map(str, _ids_in_hash_order(ids)))


def _ids_in_hash_order(ids: Iterable[int]) -> list[int]:
    return hash_order_by(ids, lambda number: number & 0xFFFFFFFF)


def as_json(described: Mapping[int, Mapping[str, LogDirDescription]], topics: Collection[str]) -> str:
    """Keys and elements in the order of Java's hash maps: scripts compare the text."""
    brokers = [
        {
            "broker": broker_id,
            "logDirs": [
                {
                    "partitions": _partitions(described[broker_id][path], topics),
                    "error": None if (error := described[broker_id][path].error) is None else java_name(error),
                    "logDir": path,
                }
                for path in hash_order(described[broker_id])
            ],
        }
        for broker_id in _ids_in_hash_order(described)
    ]
    return json.dumps({"brokers": brokers, "version": 1}, separators=(",", ":"), ensure_ascii=False)


def _partitions(log_dir: LogDirDescription, topics: Collection[str]) -> list[dict[str, object]]:
    return [
        {
            "partition": f"{partition.topic}-{partition.partition}",
            "size": log_dir.replicas[partition].size_bytes,
            "offsetLag": log_dir.replicas[partition].offset_lag,
            "isFuture": log_dir.replicas[partition].is_future,
        }
        for partition in partition_order(log_dir.replicas)
        if not topics or partition.topic in topics
    ]


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
