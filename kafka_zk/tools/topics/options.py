"""Options of kafka-topics.sh, and their valid combinations.

Role        Pure. Two sets of rules: those of 3.9 for --bootstrap-server, those of 2.8 for the legacy --zookeeper.
Source      TopicCommand.TopicCommandOptions of 3.9 and of 2.8 (checkArgs).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kafka_zk.protocol.internal_topics import INTERNAL_TOPICS
from kafka_zk.tools.common.java_output import JavaError, illegal_argument
from kafka_zk.tools.common.java_values import drop_empty_tail, java_integer, java_split, python_pattern
from kafka_zk.tools.common.options import Option, Options, UsageError

ACTIONS = ("create", "list", "alter", "describe", "delete")
_ORDER_OF_REFUSAL = ("alter", "create", "describe", "list", "delete")
PARTITION_REPORTS = (
    "under-replicated-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
    "unavailable-partitions",
)
_WITH_VALUE = (
    "bootstrap-server",
    "command-config",
    "config",
    "delete-config",
    "partition-size-limit-per-response",
    "partitions",
    "replica-assignment",
    "replication-factor",
    "topic",
    "topic-id",
)
_WITHOUT_VALUE = (
    *ACTIONS,
    *PARTITION_REPORTS,
    "exclude-internal",
    "help",
    "if-exists",
    "if-not-exists",
    "topics-with-overrides",
    "version",
)
OPTIONS = (*(Option(name, True) for name in _WITH_VALUE), *(Option(name) for name in _WITHOUT_VALUE))
_SINCE_2_8 = ("topic-id", "partition-size-limit-per-response")
ZOOKEEPER_OPTIONS = (
    *(option for option in OPTIONS if option.name not in _SINCE_2_8),
    Option("zookeeper", True),
    Option("disable-rack-aware"),
    Option("force"),
)

WITHOUT_ARGUMENTS = "Create, delete, describe, or change a topic."
HELP = "This tool helps to create, delete, describe, or change a topic."
USE_CONFIGS_TOOL = " (the kafka-configs CLI supports altering topic configs with a --bootstrap-server option)"
COLLISION_WARNING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "
    "To avoid issues it is best to use either, but not both."
)
# An option is ignored with any action other than these.
_ACTIONS_OF = {
    "config": ("alter", "create"),
    "partitions": ("alter", "create"),
    "replication-factor": ("create",),
    "replica-assignment": ("alter", "create"),
    "if-exists": ("alter", "delete", "describe"),
    "if-not-exists": ("create",),
    "exclude-internal": ("list", "describe"),
}


def check_for_bootstrap_server(options: Options) -> None:
    """Raise UsageError, JavaError or VersionAsked unless 3.9's tool would continue."""
    options.check_help_or_version(without_arguments=WITHOUT_ARGUMENTS, help_text=HELP)
    _check_one_action(options)
    if not options.has("bootstrap-server"):
        raise illegal_argument("--bootstrap-server must be specified")
    if options.has("describe") and options.has("if-exists"):
        if not options.has("topic") and not options.has("topic-id"):
            raise UsageError("--topic or --topic-id is required to describe a topic")
        if options.has("topic") and options.has("topic-id"):
            print(
                "Only topic id will be used when both --topic and --topic-id are specified "
                "and topicId is not Uuid.ZERO_UUID"
            )
    if not options.has("list") and not options.has("describe"):
        options.require("topic")
    if options.has("alter"):
        options.refuse_combination(("bootstrap-server", "config"), "alter", USE_CONFIGS_TOOL)
        options.require("partitions")
    _refuse_beside_other_actions(options, "config")
    options.refuse_beside("delete-config", (*_other_actions("alter"), "bootstrap-server"))
    _check_common(options)


def check_for_zookeeper(options: Options) -> None:
    """The same by the rules of 2.8. That exactly one connection was named is checked before."""
    options.check_help_or_version(without_arguments=WITHOUT_ARGUMENTS, help_text=HELP)
    _check_one_action(options)
    if not options.has("list") and not options.has("describe"):
        options.require("topic")
    if options.has("create") and not options.has("replica-assignment"):
        options.require("partitions", "replication-factor")
    for report in ("under-min-isr-partitions", "at-min-isr-partitions"):
        options.refuse_beside(report, ("zookeeper",))
    _refuse_beside_other_actions(options, "config")
    options.refuse_beside("delete-config", _other_actions("alter"))
    _check_common(options)


def check_one_connection(options: Options) -> None:
    """Raise JavaError unless --zookeeper is the only connection option."""
    if options.has("bootstrap-server") and options.has("zookeeper"):
        raise illegal_argument("Only one of --bootstrap-server or --zookeeper must be specified")


def _check_one_action(options: Options) -> None:
    if sum(map(options.has, ACTIONS)) != 1:
        raise UsageError("Command must include exactly one action: --list, --describe, --create, --alter or --delete")


def _check_common(options: Options) -> None:
    for name in ("partitions", "replication-factor", "replica-assignment"):
        _refuse_beside_other_actions(options, name)
    if options.has("create"):
        options.refuse_beside("replica-assignment", ("partitions", "replication-factor"))
    for report in PARTITION_REPORTS:
        options.refuse_beside(report, (*_other_actions("describe"), "topics-with-overrides"))
    options.refuse_beside("topics-with-overrides", (*_other_actions("describe"), *PARTITION_REPORTS))
    for name in ("if-exists", "if-not-exists", "exclude-internal"):
        _refuse_beside_other_actions(options, name)


def _refuse_beside_other_actions(options: Options, name: str) -> None:
    options.refuse_beside(name, _other_actions(*_ACTIONS_OF[name]))


def _other_actions(*actions: str) -> list[str]:
    return [action for action in _ORDER_OF_REFUSAL if action not in actions]


# --- values ----------------------------------------------------------------------------------------------------------


def replica_assignment(options: Options) -> dict[int, list[int]]:
    """--replica-assignment 1:2,2:3 as partition index -> broker ids; none where it was not given. Raises JavaError."""
    assignment: dict[int, list[int]] = {}
    for partition, text in enumerate(java_split(options.text("replica-assignment") or "", ",")):
        brokers = [_broker_id(word.strip()) for word in java_split(text, ":")]
        twice = sorted({broker for broker in brokers if brokers.count(broker) > 1})
        if twice:
            raise JavaError(
                f"Partition replica lists may not contain duplicate entries: {','.join(map(str, twice))}",
                "org.apache.kafka.server.common.AdminCommandFailedException",
            )
        assignment[partition] = brokers
        if len(brokers) != len(assignment[0]):
            raise JavaError(
                f"Partition {partition} has different replication factor: {brokers}",
                "org.apache.kafka.server.common.AdminOperationException",
            )
    return assignment


def _broker_id(word: str) -> int:
    try:
        return java_integer(word)
    except ValueError as error:
        raise JavaError(str(error), "java.lang.NumberFormatException") from None


def configs(options: Options) -> dict[str, str]:
    """--config key=value, the later one counting. Raises JavaError for another form."""
    pairs = [drop_empty_tail(re.split(r"\s*=\s*", text)) for text in options.texts("config")]
    if any(len(pair) != 2 for pair in pairs):
        raise illegal_argument(
            'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".'
        )
    return {name.strip(): value.strip() for name, value in pairs}


def names_matching(topics: Sequence[str], pattern: str | None, *, exclude_internal: bool) -> list[str]:
    """Those of `topics` that --topic asks for: a regular expression, commas meaning or. Raises JavaError."""
    chosen = topics if pattern is None else _matching(topics, pattern)
    return [topic for topic in chosen if not (exclude_internal and topic in INTERNAL_TOPICS)]


def _matching(topics: Sequence[str], pattern: str) -> list[str]:
    java_pattern = re.sub(r"[\"']+$", "", re.sub(r"^[\"']+", "", pattern.strip().replace(",", "|").replace(" ", "")))
    try:
        expression = re.compile(python_pattern(java_pattern))
    except re.error:
        raise JavaError(f"{java_pattern} is an invalid regex.", "java.lang.RuntimeException") from None
    return [topic for topic in topics if expression.fullmatch(topic)]
