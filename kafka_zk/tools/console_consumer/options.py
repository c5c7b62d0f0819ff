"""Options of kafka-console-consumer.sh, their valid combinations, and the consumer's configuration they make.

Role        Pure, but for the files it reads.
Source      org.apache.kafka.tools.consumer.ConsoleConsumerOptions.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from kafka_zk.tools.common.command_config import read_command_config
from kafka_zk.tools.common.failures import Refused
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.common.java_values import java_long
from kafka_zk.tools.common.options import Option, OptionError, Options, UsageError
from kafka_zk.tools.console_consumer.formatter_choice import find_formatter
from kafka_zk.tools.console_consumer.formatters import DEFAULT, Formatter, deprecation_warning

ABOUT = "This tool helps to read data from Kafka topics and outputs it to standard output."
CLIENT_ID = "console-consumer"
EARLIEST, LATEST = -2, -1
_WITH_VALUE = (
    "bootstrap-server",
    "consumer-property",
    "consumer.config",
    "formatter",
    "formatter-config",
    "group",
    "include",
    "isolation-level",
    "key-deserializer",
    "max-messages",
    "offset",
    "partition",
    "property",
    "timeout-ms",
    "topic",
    "value-deserializer",
    "whitelist",
)
_WITHOUT_VALUE = ("enable-systest-events", "from-beginning", "help", "skip-message-on-error", "version")
OPTIONS = (*(Option(name, True) for name in _WITH_VALUE), *(Option(name) for name in _WITHOUT_VALUE))


@dataclass(frozen=True, slots=True)
class ConsoleConsumerOptions:
    """What one run is to do. `offset` may be EARLIEST or LATEST; without `timeout_ms` it waits for ever."""

    given: Options
    consumer: dict[str, str]
    topic: str | None
    include: str | None
    partition: int | None
    offset: int
    timeout_ms: int | None
    formatter: Formatter

    def max_messages(self) -> int:
        """How many records are printed at most, -1 for all. Read late, as Apache's tool does. Raises OptionError."""
        found = self.given.integer("max-messages")
        return -1 if found is None else found


def parsed(arguments: Sequence[str]) -> ConsoleConsumerOptions:
    """Raises UsageError, VersionAsked, Refused, and JavaError for what Apache's tool does not catch."""
    try:
        options = Options(OPTIONS, arguments)
    except OptionError as error:
        raise UsageError(str(error)) from None
    options.check_help_or_version(without_arguments=ABOUT, help_text=ABOUT)
    topic, include = options.text("topic"), options.text("include" if options.has("include") else "whitelist")
    partition = options.integer("partition") if _check(options, topic, include) else None
    consumer = _consumer_properties(options, partition)
    return ConsoleConsumerOptions(
        options,
        consumer,
        topic,
        include,
        partition,
        _offset(options),
        _timeout_ms(options),
        _formatter(options),
    )


def _check(options: Options, topic: str | None, include: str | None) -> bool:
    """Whether a partition was named."""
    if (topic is None) == (include is None):
        deprecated = "--whitelist is DEPRECATED use --include instead; ignored if --include specified."
        raise UsageError(
            f"Exactly one of --include/--topic is required. {deprecated if options.has('whitelist') else ''}"
        )
    has_partition = options.integer("partition") is not None
    if has_partition:
        if topic is None:
            raise UsageError("The topic is required when partition is specified.")
        if options.has("from-beginning") and options.has("offset"):
            raise UsageError("Options from-beginning and offset cannot be specified together.")
    elif options.has("offset"):
        raise UsageError("The partition is required when offset is specified.")
    options.require("bootstrap-server")
    return has_partition


def _consumer_properties(options: Options, partition: int | None) -> dict[str, str]:
    from_file = read_command_config(options.text("consumer.config"))
    extra = options.key_values("consumer-property")
    group = _group(options, from_file, extra, partition)
    properties = {**from_file, **extra}
    _settle_reset(options, properties)
    properties["bootstrap.servers"] = options.text("bootstrap-server") or ""
    properties.setdefault("client.id", CLIENT_ID)
    level = options.text("isolation-level")
    if level is not None or "isolation.level" not in properties:
        properties["isolation.level"] = level or "read_uncommitted"
    if group is None:
        properties["group.id"] = f"console-consumer-{random.randrange(100_000)}"
        # The offsets of a generated group will never be needed.
        properties.setdefault("enable.auto.commit", "false")
    else:
        properties["group.id"] = group
    return properties


def _group(options: Options, from_file: dict[str, str], extra: dict[str, str], partition: int | None) -> str | None:
    places = (options.text("group"), from_file.get("group.id"), extra.get("group.id"))
    groups = sorted({group for group in places if group is not None})
    if len(groups) > 1:
        named = ", ".join(f"'{group}'" for group in groups)
        raise UsageError(
            "The group ids provided in different places (directly using '--group', via '--consumer-property', or via "
            f"'--consumer.config') do not match. Detected group ids: {named}"
        )
    if groups and partition is not None:
        raise UsageError("Options group and partition cannot be specified together.")
    return groups[0] if groups else None


def _settle_reset(options: Options, properties: dict[str, str]) -> None:
    given = properties.get("auto.offset.reset")
    if given is None:
        properties["auto.offset.reset"] = "earliest" if options.has("from-beginning") else "latest"
    elif options.has("from-beginning") and given != "earliest":
        raise Refused(
            f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={given}', please remove one option"
        )


def _offset(options: Options) -> int:
    text = options.text("offset")
    if text is None:
        return EARLIEST if options.has("from-beginning") else LATEST
    if text.lower() in ("earliest", "latest"):
        return EARLIEST if text.lower() == "earliest" else LATEST
    try:
        offset = java_long(text)
    except ValueError:
        offset = -1
    if offset < 0:
        raise UsageError(
            f"The provided offset value '{text}' is incorrect. Valid values are 'earliest', 'latest', or a "
            "non-negative long."
        )
    return offset


def _timeout_ms(options: Options) -> int | None:
    given = options.long("timeout-ms")
    return None if given is None or given < 0 else given


def _formatter(options: Options) -> Formatter:
    class_name = options.text("formatter") or DEFAULT
    warning = deprecation_warning(class_name)
    if warning is not None:
        print(warning, file=sys.stderr)
    try:
        properties = read_command_config(options.text("formatter-config"))
        for option in ("key-deserializer", "value-deserializer"):
            deserializer = options.text(option)
            if deserializer:
                properties[option.replace("-", ".")] = deserializer
        return find_formatter(class_name, {**properties, **options.key_values("property")})
    except JavaError as error:
        raise UsageError(str(error)) from None
