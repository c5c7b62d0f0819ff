"""Sets up logging from a log4j 1 properties file.

Role        Acts. `start_logging` is called once, before anything is logged; packages use the standard library's
            `logging.getLogger` with Kafka's names: kafka.server.KafkaServer, kafka.controller.KafkaController,
            state.change.logger ...
Invariants  Logging never blocks the loop (queue.py) and never fails a request.
Source      Kafka's config/log4j.properties and bin/kafka-run-class.sh (LOG_DIR, kafka.logs.dir); LoggingController.

Supported of log4j: rootLogger, logger.*, additivity.*, appender.* of the classes ConsoleAppender, FileAppender,
DailyRollingFileAppender and RollingFileAppender with File, Target, DatePattern, MaxFileSize, MaxBackupIndex, Append,
Threshold and layout.ConversionPattern, and ${...} of kafka.logs.dir and the environment.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path

from kafka_zk.broker.logs.files import LogFile, NeverRolling, Rolling, RollingByDate, RollingBySize, size_in_bytes
from kafka_zk.broker.logs.layout import KAFKA_PATTERN, PatternFormatter
from kafka_zk.broker.logs.levels import TRACE, level_number
from kafka_zk.broker.logs.queue import ConsoleDestination, Destination, LogQueue, QueueHandler
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.properties import read_file
from kafka_zk.config.shipped import shipped_config

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_CONFIGURATION = re.compile(r"-Dlog4j\.configuration=(?:file:)?(\S+)")
_PREFIX = "log4j."


class LoggingSystem:
    """Everything that `configure` set up; `close` writes out what is waiting."""

    def __init__(self) -> None:
        self._files = LogQueue("files")
        self._console = LogQueue("console")
        self._destinations: list[Destination] = []
        self._loggers: list[logging.Logger] = []

    @property
    def dropped_count(self) -> int:
        """Lines lost because their destination did not keep up."""
        return self._files.dropped_count + self._console.dropped_count

    def configure(self, properties: Mapping[str, str], *, log_dir: str | Path) -> None:
        """Set up loggers as the log4j `properties` say; relative to `log_dir` where they use ${kafka.logs.dir}.

        Raises ConfigException for unsupported properties.
        """
        logging.addLevelName(TRACE, "TRACE")
        _leave_out_what_no_layout_shows()
        variables = {**os.environ, "kafka.logs.dir": str(log_dir)}
        settings = {name: _expand(value, variables) for name, value in properties.items()}
        handlers = {name: self._handler(name, settings) for name in _appender_names(settings)}
        for key, value in settings.items():
            if key == _PREFIX + "rootLogger":
                self._set_up(logging.getLogger(), value, handlers)
            elif key.startswith(_PREFIX + "logger."):
                self._set_up(logging.getLogger(key.removeprefix(_PREFIX + "logger.")), value, handlers)
            elif key.startswith(_PREFIX + "additivity."):
                name = key.removeprefix(_PREFIX + "additivity.")
                logging.getLogger(name).propagate = value.strip().lower() != "false"

    def close(self) -> None:
        """Blocks, for a few seconds at most. Detach the handlers and write what is waiting."""
        for logger in self._loggers:
            for handler in [handler for handler in logger.handlers if isinstance(handler, QueueHandler)]:
                logger.removeHandler(handler)
        self._files.close()
        self._console.close()
        for destination in self._destinations:
            # That it could not be written was said when it was tried; it must not change the exit code.
            with contextlib.suppress(OSError):
                destination.close()

    def _set_up(self, logger: logging.Logger, value: str, handlers: Mapping[str, logging.Handler]) -> None:
        self._loggers.append(logger)
        level, *names = [part.strip() for part in value.split(",")]
        if level:
            logger.setLevel(level_number(level))
        for name in names:
            if name not in handlers:
                raise ConfigException(f"The logger {logger.name} names the unknown appender {name}")
            logger.addHandler(handlers[name])

    def _handler(self, name: str, settings: Mapping[str, str]) -> logging.Handler:
        prefix = f"{_PREFIX}appender.{name}"
        kind = settings[prefix].rpartition(".")[2]
        handler: logging.Handler
        if kind == "ConsoleAppender":
            target = settings.get(prefix + ".Target", "System.out")
            console = ConsoleDestination(2 if target == "System.err" else 1, os.write)
            self._destinations.append(console)
            handler = QueueHandler(self._console, console)
        elif kind in ("FileAppender", "DailyRollingFileAppender", "RollingFileAppender"):
            file = LogFile(Path(_required(settings, prefix + ".File")), _rolling(kind, prefix, settings))
            self._destinations.append(file)
            handler = QueueHandler(self._files, file)
        else:
            raise ConfigException(f"The appender {name} is of the class {settings[prefix]}, which is not supported")
        if prefix + ".Threshold" in settings:
            handler.setLevel(level_number(settings[prefix + ".Threshold"]))
        handler.setFormatter(PatternFormatter(settings.get(prefix + ".layout.ConversionPattern", KAFKA_PATTERN)))
        return handler


def _leave_out_what_no_layout_shows() -> None:
    """Skip code location and process of a line: they are half of its cost."""
    logging._srcfile = None  # as logging's own documentation advises
    logging.logProcesses = False
    logging.logMultiprocessing = False


def start_logging(environment: Mapping[str, str] = os.environ) -> LoggingSystem:
    """Set up the log as the environment asks: LOG_DIR (default: logs/), and KAFKA_LOG4J_OPTS with a file.

    If the file cannot be used, the broker logs that and uses the shipped one.
    """
    log_dir = environment.get("LOG_DIR") or "logs"
    chosen = _CONFIGURATION.search(environment.get("KAFKA_LOG4J_OPTS", ""))
    complaint = ""
    if chosen:
        system = LoggingSystem()
        try:
            system.configure(read_file(chosen[1]), log_dir=log_dir)
            return system
        except (OSError, ConfigException) as error:
            system.close()
            complaint = f"Ignoring the log configuration {chosen[1]}: {error}"
    system = LoggingSystem()
    system.configure(read_file(shipped_config("log4j.properties")), log_dir=log_dir)
    if complaint:
        logging.getLogger("kafka.Kafka$").warning(complaint)
    return system


def _rolling(kind: str, prefix: str, settings: Mapping[str, str]) -> Rolling:
    if kind == "DailyRollingFileAppender":
        return RollingByDate(settings.get(prefix + ".DatePattern", "'.'yyyy-MM-dd"))
    if kind == "RollingFileAppender":
        return RollingBySize(
            size_in_bytes(settings.get(prefix + ".MaxFileSize", "10MB")),
            int(settings.get(prefix + ".MaxBackupIndex", "1")),
        )
    return NeverRolling()


def _appender_names(settings: Mapping[str, str]) -> list[str]:
    keys = [key.removeprefix(_PREFIX + "appender.") for key in settings if key.startswith(_PREFIX + "appender.")]
    return [key for key in keys if "." not in key]


def _required(settings: Mapping[str, str], key: str) -> str:
    if key not in settings:
        raise ConfigException(f"The log configuration has no {key}")
    return settings[key]


def _expand(value: str, variables: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: variables.get(match[1], ""), value)
