"""Which formatter a class name on the command line stands for.

Source      ConsoleConsumerOptions.messageFormatter in Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.console_consumer.formatters import (
    DEFAULT,
    DEPRECATED,
    OLD_TOOLS,
    PACKAGE,
    Formatter,
    default_formatter,
)


def find_formatter(class_name: str, properties: Mapping[str, str]) -> Formatter:
    """The formatter of a class. Raises JavaError for a class that is not Kafka's own."""
    name = DEPRECATED[class_name] if class_name.startswith(OLD_TOOLS) and class_name in DEPRECATED else class_name
    if name == f"{PACKAGE}NoOpMessageFormatter":
        return lambda record: b""
    if name in (DEFAULT, f"{PACKAGE}LoggingMessageFormatter"):
        # What the second one logs is at INFO, and tools log from WARN on.
        return default_formatter(properties)
    if name in DEPRECATED or name in DEPRECATED.values():
        # Imported late: the formatters of the coordinators take time to import, and few runs need them.
        from kafka_zk.tools.console_consumer.coordinator_formatters import FORMATTERS

        return FORMATTERS[name]
    raise JavaError(class_name, "java.lang.ClassNotFoundException")
