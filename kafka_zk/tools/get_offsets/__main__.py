"""kafka-get-offsets.sh: offsets of partitions by time, one `topic:partition:offset` per line.

Source      org.apache.kafka.tools.GetOffsetShell, TopicPartitionFilter.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.bootstrap_option import check_bootstrap_servers
from kafka_zk.tools.common.command_config import api_timeout_ms, read_command_config
from kafka_zk.tools.common.endings import exit_code_of, run_as_program, tell_with_trace
from kafka_zk.tools.common.failures import Refused
from kafka_zk.tools.common.java_output import JavaError, execution_error, show_warnings, stack_trace
from kafka_zk.tools.common.java_values import java_integer, java_long, java_split, python_pattern
from kafka_zk.tools.common.options import Option, OptionError, Options, UsageError

if TYPE_CHECKING:
    from kafka_zk.client.admin.admin_client import AdminClient

ABOUT = "An interactive shell for getting topic-partition offsets."
CLIENT_ID = "GetOffsetShell"
OPTIONS = (
    *(
        Option(name, True)
        for name in (
            "bootstrap-server",
            "broker-list",
            "command-config",
            "partitions",
            "time",
            "topic",
            "topic-partitions",
        )
    ),
    *(Option(name) for name in ("exclude-internal-topics", "help", "version")),
)
TIMES = {"latest": -1, "earliest": -2, "max-timestamp": -3, "earliest-local": -4, "latest-tiered": -5}
_RULE = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")
_NO_OFFSET = -1
_SAID_FIRST = "Error occurred: "

Filter = Callable[[TopicPartition], bool]


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    return exit_code_of(lambda: _run(words), tool="get_offsets", tell=_tell)


def _tell(error: Exception) -> None:
    print(_SAID_FIRST, end="", file=sys.stderr)
    tell_with_trace(error)


def _refused(sentence: str) -> Refused:
    return Refused(f"{_SAID_FIRST}{sentence}")


def _run(arguments: list[str]) -> None:
    options = _parsed(arguments)
    if options.has("topic-partitions") and (options.has("topic") or options.has("partitions")):
        raise _refused("--topic-partitions cannot be used with --topic or --partitions")
    time_ms = _time_ms(options.text("time"))
    wanted = _filter(options)
    properties = _properties(options)
    show_warnings(api_timeout_ms(properties))
    from kafka_zk.client.admin.admin_client import AdminClient

    with AdminClient(properties) as admin:
        partitions = _partitions(admin, wanted, internal=not options.has("exclude-internal-topics"))
        if not partitions:
            raise _refused("Could not match any topic-partitions with the specified filters")
        listed = admin.list_offsets(dict.fromkeys(partitions, time_ms))
    for partition, found in sorted(listed.items(), key=lambda item: str(item[0])):
        if isinstance(found, Exception):
            reason = stack_trace(found).rstrip("\n")
            print(f"Skip getting offsets for topic-partition {partition} due to error: {reason}", file=sys.stderr)
        elif found.offset != _NO_OFFSET:
            print(f"{partition.topic}:{partition.partition}:{found.offset}")


def _parsed(arguments: list[str]) -> Options:
    """Raises UsageError, Refused, VersionAsked."""
    if not arguments:
        raise UsageError(ABOUT)
    try:
        options = Options(OPTIONS, arguments)
        options.require_one_of("bootstrap-server", "broker-list")
    except OptionError as error:
        raise _refused(str(error)) from None
    options.check_help_or_version(without_arguments=ABOUT, help_text=ABOUT)
    check_bootstrap_servers(_bootstrap_servers(options))
    return options


def _bootstrap_servers(options: Options) -> str:
    return options.text("bootstrap-server" if options.has("bootstrap-server") else "broker-list") or ""


def _properties(options: Options) -> dict[str, str]:
    return {
        **read_command_config(options.text("command-config")),
        "bootstrap.servers": _bootstrap_servers(options),
        "client.id": CLIENT_ID,
    }


def _partitions(admin: AdminClient, wanted: Filter, *, internal: bool) -> list[TopicPartition]:
    try:
        names = [topic.name for topic in admin.list_topics(internal=internal)]
        described = admin.describe_topics([name for name in names if wanted(TopicPartition(name, -1))])
    except (KafkaException, BrokerError) as error:
        raise execution_error(error) from error
    found = (
        TopicPartition(topic.name, partition.partition)
        for topic in described.values()
        for partition in topic.partitions
    )
    return [partition for partition in found if wanted(partition)]


# --- which partitions ------------------------------------------------------------------------------------------------


def _filter(options: Options) -> Filter:
    """What the options choose; a partition of -1 checks the topic alone. Raises Refused, JavaError."""
    rules = options.text("topic-partitions")
    if rules is not None:
        choices = [_rule(text) for text in java_split(rules, ",")]
        return lambda partition: any(choice(partition) for choice in choices)
    topic = _topic_pattern(options.text("topic") or ".*")
    indexes = _partition_set(options.text("partitions") or "")
    return lambda partition: (
        bool(topic.fullmatch(partition.topic))
        and (not indexes or partition.partition < 0 or partition.partition in indexes)
    )


def _partition_set(text: str) -> frozenset[int]:
    try:
        return frozenset(map(java_integer, java_split(text, ",")))
    except ValueError:
        raise _refused(
            f"--partitions expects a comma separated list of numeric partition ids, but received: {text}"
        ) from None


def _rule(text: str) -> Filter:
    """`topic`, `topic:3`, `topic:1-3` (3 is excluded), `topic:1-`, `:-3`."""
    match = _RULE.fullmatch(text)
    if match is None:
        cause = JavaError(f"Invalid rule specification: {text}", "org.apache.kafka.tools.TerseException")
        raise JavaError(f"{cause.java_class}: {cause}", "java.lang.RuntimeException") from cause
    topic = _topic_pattern(match[1] or ".*")
    try:
        if match[2]:
            first = java_integer(match[2])
            end = first + 1
        else:
            first = java_integer(match[3] or "0")
            end = java_integer(match[4] or str(2**31 - 1))
    except ValueError as error:
        raise JavaError(str(error), "java.lang.NumberFormatException") from None
    return lambda partition: (
        bool(topic.fullmatch(partition.topic)) and (partition.partition < 0 or first <= partition.partition < end)
    )


def _topic_pattern(text: str) -> re.Pattern[str]:
    pattern = re.sub(r"[\"']+$", "", re.sub(r"^[\"']+", "", text.strip().replace(",", "|").replace(" ", "")))
    try:
        return re.compile(python_pattern(pattern))
    except re.error:
        raise JavaError(f"{pattern} is an invalid regex.", "java.lang.RuntimeException") from None


def _time_ms(text: str | None) -> int:
    if text is None:
        return TIMES["latest"]
    if text in TIMES:
        return TIMES[text]
    try:
        return java_long(text)
    except ValueError:
        words = " / ".join(f"{number} or {name}" for name, number in TIMES.items())
        raise _refused(
            f"Malformed time argument {text}. Please use {words}, or a specified long format timestamp"
        ) from None


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
