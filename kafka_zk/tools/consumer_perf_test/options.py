"""Options of kafka-consumer-perf-test.sh.

Role        Pure, but for the file it reads.
Invariants  Numbers are read where they are needed, as in Apache's tool: the header is printed before a wrong one fails.
Source      ConsumerPerformance.ConsumerPerfOptions.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from kafka_zk.tools.common.command_config import read_command_config
from kafka_zk.tools.common.java_format import DateFormat
from kafka_zk.tools.common.java_output import illegal_argument
from kafka_zk.tools.common.options import Option, OptionError, Options, UsageError, usage_of

ABOUT = "This tool is used to verify the consumer performance."
CLIENT_ID = "perf-consumer-client"
IGNORED = ("threads", "num-fetch-threads")
OPTIONS = (
    *(
        Option(name, True)
        for name in (
            *IGNORED,
            "bootstrap-server",
            "broker-list",
            "consumer.config",
            "date-format",
            "fetch-size",
            "group",
            "messages",
            "reporting-interval",
            "socket-buffer-size",
            "topic",
        )
    ),
    Option("timeout", True, value_is_optional=True),
    *(
        Option(name)
        for name in ("from-latest", "help", "hide-header", "print-metrics", "show-detailed-stats", "version")
    ),
)
_GROUP_IN_USAGE = "perf-consumer-00000)"


class ConsumerPerfOptions:
    """What one run is to do."""

    def __init__(self, arguments: Sequence[str]) -> None:
        """Raises UsageError, VersionAsked."""
        self._group = f"perf-consumer-{random.randrange(100_000)}"
        try:
            self._options = options = Options(OPTIONS, arguments)
            options.require_one_of("bootstrap-server", "broker-list")
        except OptionError as error:
            raise UsageError(str(error)) from None
        if any(map(options.has, IGNORED)):
            print(
                "WARNING: option [threads] and [num-fetch-threads] have been deprecated and will be ignored by the test"
            )
        options.check_help_or_version(without_arguments=ABOUT, help_text=ABOUT)
        options.require("topic", "messages")
        self.hides_header = options.has("hide-header")
        self.is_detailed = options.has("show-detailed-stats")
        self.prints_metrics = options.has("print-metrics")

    def consumer(self) -> dict[str, str]:
        """The consumer's configuration. Raises JavaError, OptionError."""
        options = self._options
        properties = read_command_config(options.text("consumer.config"))
        bootstrap = options.text("bootstrap-server" if options.has("bootstrap-server") else "broker-list")
        properties |= {
            "bootstrap.servers": bootstrap or "",
            "group.id": options.text("group") or self._group,
            "receive.buffer.bytes": str(self._integer("socket-buffer-size", 2 * 1024 * 1024)),
            "max.partition.fetch.bytes": str(self._integer("fetch-size", 1024 * 1024)),
            "auto.offset.reset": "latest" if options.has("from-latest") else "earliest",
            "check.crcs": "false",
        }
        properties.setdefault("client.id", CLIENT_ID)
        return properties

    def _integer(self, name: str, default: int) -> int:
        given = self._options.integer(name)
        return default if given is None else given

    def topic(self) -> str:
        return self._options.text("topic") or ""

    def message_count(self) -> int:
        return self._options.long("messages") or 0

    def timeout_ms(self) -> int:
        given = self._options.long("timeout")
        return 10_000 if given is None else given

    def reporting_interval_ms(self) -> int:
        """Raises JavaError."""
        given = self._options.long("reporting-interval")
        if given is not None and given <= 0:
            raise illegal_argument("Reporting interval must be greater than 0.")
        return 5_000 if given is None else given

    def date_format(self) -> DateFormat:
        """Raises JavaError."""
        return DateFormat(self._options.text("date-format") or "yyyy-MM-dd HH:mm:ss:SSS")


def usage(tool: str) -> str:
    """The option table; the generated group differs each time."""
    group = f"perf-consumer-{random.randrange(100_000)})"
    return usage_of(tool).replace(_GROUP_IN_USAGE, group.ljust(len(_GROUP_IN_USAGE)))
