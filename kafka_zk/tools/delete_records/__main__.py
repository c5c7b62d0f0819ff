"""kafka-delete-records.sh: deletes records of partitions up to offsets that a JSON file names.

Source: org.apache.kafka.tools.DeleteRecordsCommand.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common import java_json
from kafka_zk.tools.common.command_config import api_timeout_ms, client_properties
from kafka_zk.tools.common.endings import exit_code_of, run_as_program
from kafka_zk.tools.common.java_files import read_file
from kafka_zk.tools.common.java_output import JavaError, awaited, partition_order, show_warnings
from kafka_zk.tools.common.options import Option, Options

ABOUT = "This tool helps to delete records of the given partitions down to the specified offset."
OPTIONS = (
    *(Option(name, True) for name in ("bootstrap-server", "command-config", "offset-json-file")),
    *(Option(name) for name in ("help", "version")),
)
VERSION = 1


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    return exit_code_of(lambda: _run(words), tool="delete_records")


def _run(arguments: Sequence[str]) -> None:
    options = Options(OPTIONS, arguments)
    options.check_help_or_version(without_arguments=ABOUT, help_text=ABOUT)
    options.require("bootstrap-server", "offset-json-file")
    properties = client_properties(options)
    show_warnings(api_timeout_ms(properties))
    from kafka_zk.client.admin.admin_client import AdminClient

    with AdminClient(properties) as admin:
        wanted = offsets_from(read_file(options.text("offset-json-file") or ""))
        print("Executing records delete operation")
        outcomes = admin.delete_records(wanted)
        print("Records delete operation completed:")
        for partition in partition_order(outcomes):
            outcome = outcomes[partition]
            if isinstance(outcome, Exception):
                print(f"partition: {partition}\terror: {awaited(outcome)}")
            else:
                print(f"partition: {partition}\tlow_watermark: {outcome}")


def offsets_from(text: str) -> dict[TopicPartition, int]:
    """The offsets in a file's text, in the order of a hash map. Raises JavaError."""
    try:
        value = java_json.parsed(text)
    except ValueError:
        raise _operation_error("The input string is not a valid JSON") from None
    plan = java_json.as_object(value)
    version = java_json.as_integer(plan["version"]) if "version" in plan else VERSION
    if version != VERSION:
        raise _operation_error(f"Not supported version field value {version}")
    if "partitions" not in plan:
        raise _operation_error("Missing partitions field")
    found: dict[TopicPartition, int] = {}
    twice: list[TopicPartition] = []
    for each in java_json.as_array(plan["partitions"]):
        entry = java_json.as_object(each)
        topic = java_json.as_string(java_json.field(entry, "topic"))
        partition = TopicPartition(topic, java_json.as_integer(java_json.field(entry, "partition")))
        offset = java_json.as_long(java_json.field(entry, "offset"))
        if partition in found:
            twice.append(partition)
        found[partition] = offset
    # Filled by computeIfAbsent, which puts the newest entry of a bucket first.
    order = partition_order(reversed(list(found)))
    if twice:
        listed = ",".join(str(partition) for partition in order if partition in twice)
        raise JavaError(
            f"Offset json file contains duplicate topic partitions: {listed}",
            "org.apache.kafka.server.common.AdminCommandFailedException",
        )
    return {partition: found[partition] for partition in order}


def _operation_error(message: str) -> JavaError:
    return JavaError(message, "org.apache.kafka.server.common.AdminOperationException")


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
