"""Options of kafka-console-producer.sh, and the producer's configuration they make.

Role        Pure, but for the files it reads.
Source      kafka.tools.ConsoleProducer.ProducerConfig, producerProps, getReaderProps.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_zk.tools.common.bootstrap_option import ADVICE, has_port
from kafka_zk.tools.common.command_config import read_command_config
from kafka_zk.tools.common.java_values import java_split
from kafka_zk.tools.common.options import Option, OptionError, Options, UsageError
from kafka_zk.tools.console_producer.line_reader import CLASS_NAME

ABOUT = "This tool helps to read data from standard input and publish it to Kafka."
CLIENT_ID = "console-producer"
# Options that stand for one configuration: its name, the option, its default, whether it is a text, an int or a long.
# Where an option is missing, the configuration counts before the default.
_TEXT, _INTEGER, _LONG = Options.text, Options.integer, Options.long
MERGED = (
    ("linger.ms", "timeout", 1000, _LONG),
    ("acks", "request-required-acks", -1, _TEXT),
    ("request.timeout.ms", "request-timeout-ms", 1500, _INTEGER),
    ("retries", "message-send-max-retries", 3, _INTEGER),
    ("retry.backoff.ms", "retry-backoff-ms", 100, _LONG),
    ("send.buffer.bytes", "socket-buffer-size", 100 * 1024, _INTEGER),
    ("buffer.memory", "max-memory-bytes", 32 * 1024 * 1024, _LONG),
    ("batch.size", "batch-size", 16 * 1024, _INTEGER),
    ("batch.size", "max-partition-memory-bytes", 16 * 1024, _INTEGER),
    ("metadata.max.age.ms", "metadata-expiry-ms", 5 * 60_000, _LONG),
    ("max.block.ms", "max-block-ms", 60_000, _LONG),
)
OPTIONS = (
    *(
        Option(name, True)
        for name in (
            "bootstrap-server",
            "broker-list",
            "line-reader",
            "producer-property",
            "producer.config",
            "property",
            "reader-config",
            "topic",
            *(option for _, option, _, _ in MERGED),
        )
    ),
    Option("compression-codec", True, value_is_optional=True),
    *(Option(name) for name in ("help", "sync", "version")),
)


def parsed(arguments: Sequence[str]) -> Options:
    """Raises UsageError, VersionAsked, OptionError."""
    try:
        options = Options(OPTIONS, arguments)
        options.require_one_of("bootstrap-server", "broker-list")
    except OptionError as error:
        raise UsageError(str(error)) from None
    options.check_help_or_version(without_arguments=ABOUT, help_text=ABOUT)
    options.require("topic")
    options.text("topic")
    parts = java_split(_bootstrap_servers(options), ",")
    if not parts or not all(map(has_port, parts)):
        raise UsageError(f"{ADVICE} ")
    return options


def _bootstrap_servers(options: Options) -> str:
    given = options.text("bootstrap-server")
    return given if given is not None else options.text("broker-list") or ""


def producer_properties(options: Options) -> dict[str, str]:
    """Raises OptionError, JavaError."""
    properties = {**_file(options, "producer.config"), **options.key_values("producer-property")}
    properties["bootstrap.servers"] = _bootstrap_servers(options)
    codec = "none"
    if options.has("compression-codec"):
        codec = options.text("compression-codec") or "gzip"
    properties["compression.type"] = codec
    properties.setdefault("client.id", CLIENT_ID)
    for name, option, default, read in MERGED:
        if options.has(option) or name not in properties:
            value = read(options, option)
            properties[name] = str(default if value is None else value)
    return properties


def reader_properties(options: Options) -> dict[str, str]:
    """Raises JavaError."""
    topic = options.text("topic") or ""
    return {**_file(options, "reader-config"), "topic": topic, **options.key_values("property")}


def reader_class(options: Options) -> str:
    return options.text("line-reader") or CLASS_NAME


def _file(options: Options, option: str) -> dict[str, str]:
    return read_command_config(options.text(option))
