"""kafka-server-start.sh [-daemon] server.properties [--override key=value]...: run one broker until it is told to stop.

Role        Reads the arguments and the properties file, sets up logging, runs the server, turns signals into a clean
            stop. Exit codes are Apache's: 1 for a start that failed, 128 + the signal's number for a stop by signal.
Source      kafka.Kafka, kafka-server-start.sh; KafkaServer's log lines.
"""

from __future__ import annotations

import argparse
import gc
import logging
import os
import resource
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from kafka_zk import KAFKA_VERSION, __version__, garbage_collection
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.exposure import exposed_files
from kafka_zk.config.properties import apply_overrides, read_file
from kafka_zk.standard_streams import forgive, open_closed_streams
from kafka_zk.tools.common.background import log_dir, start_module
from kafka_zk.tools.common.program import heeded_signals

USAGE = "USAGE: kafka-server-start.sh [-daemon] server.properties [--override property=value]*"
MODULE = "kafka_zk.tools.server_start"
DAEMON_OUTPUT = "kafkaServer.out"
THREAD_SWITCH_INTERVAL_S = 0.0005

FEWEST_DESCRIPTORS = 96
"""Segments of a few partitions, ZooKeeper, log files, another broker, and some clients."""

log = logging.getLogger("kafka.Kafka$")


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if not arguments or arguments[0] in ("--help", "-h", "-help"):
        print(USAGE, file=sys.stderr)
        print("Also: --port-file FILE (write the first listener's port to FILE once the broker is up), --version",
              file=sys.stderr)  # fmt: skip
        return 0 if arguments else 1
    if "--version" in arguments:
        print(f"{KAFKA_VERSION} (kafka_zk {__version__})")
        return 0
    if arguments[0] == "-daemon":
        return _start_in_background(arguments[1:])
    options = _parse(arguments)
    from kafka_zk.broker.logs.setup import start_logging

    logging_system = start_logging({**os.environ, "LOG_DIR": str(log_dir())})
    try:
        return _run(options)
    finally:
        logging_system.close()


def run() -> NoReturn:
    """`main` as a program. Daemon threads of gevent's pools must not keep a stopped broker alive."""
    open_closed_streams()
    forgive("stdout", "stderr")
    for number in heeded_signals():
        # Until the server handles signals, a Ctrl-C ends the process like any other, without a traceback.
        signal.signal(number, signal.SIG_DFL)
    # Freeze what is imported: the collector would scan it repeatedly, for a tenth of the start's CPU time.
    gc.disable()
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def descriptors_needed(config: BrokerConfig) -> int:
    """How many open files a broker of this config needs at least: with fewer it cannot serve any client."""
    return FEWEST_DESCRIPTORS + len(config.listeners) + len(config.log_dirs)


def _start_in_background(arguments: Sequence[str]) -> int:
    try:
        start_module(MODULE, arguments, output=DAEMON_OUTPUT)
    except OSError as error:
        print(f"Cannot start the broker in the background: {error}", file=sys.stderr)
        return 1
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Apache's exit code for wrong arguments is 1."""
        print(f"{USAGE}\n{message}", file=sys.stderr)
        sys.exit(1)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog="kafka-server-start.sh", add_help=False, allow_abbrev=False)
    parser.add_argument("properties")
    parser.add_argument("--override", action="append", default=[], metavar="property=value")
    parser.add_argument("--port-file", type=Path)
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> int:
    try:
        of_file = read_file(options.properties)
        properties = apply_overrides(of_file, options.override)
        config = BrokerConfig.from_properties(properties)
        warn_of_exposed(of_file, properties, Path(options.properties))
    except FileNotFoundError as error:
        log.error("Exiting Kafka due to fatal exception: there is no file %s", error.filename)
        return 1
    except (ConfigException, OSError, ValueError) as error:
        log.error("Exiting Kafka due to fatal exception: %s", error)
        return 1
    return _serve(config, options.port_file)


def warn_of_exposed(of_file: dict[str, str], properties: dict[str, str], path: Path) -> None:
    """Blocks on the disk. Log a line for each file with secrets that everybody can read.

    `of_file` is what the properties file `path` itself holds, `properties` all that counts.
    """
    for exposed in dict.fromkeys(
        (*exposed_files(of_file, path, os.environ), *exposed_files(properties, None, os.environ))
    ):
        log.warning("%s", exposed)


def _serve(config: BrokerConfig, port_file: Path | None) -> int:
    import gevent

    from kafka_zk.api import dispatch
    from kafka_zk.broker.server import START_FAILURES, KafkaServer
    from kafka_zk.protocol.coding import CODEC
    from kafka_zk.record import WALKER

    # bench/ refuses to measure a broker that runs a pure Python one.
    hot_path = "pure" if str(dispatch.__file__).endswith(".py") else "compiled"
    log.info("Codec: %s, record walker: %s, hot path: %s", CODEC, WALKER, hot_path)
    sys.setswitchinterval(THREAD_SWITCH_INTERVAL_S)
    garbage_collection.begin()
    limit = _raise_open_files_limit()
    needed = descriptors_needed(config)
    if limit < needed:
        log.error(
            "Exiting Kafka: the limit of open files is %d (ulimit -Hn), but this config needs at least %d",
            limit,
            needed,
        )
        return 1
    try:
        server = KafkaServer(config)
    except START_FAILURES as error:
        _log_failed_start(error, config.broker_id, needs_traceback=False)
        return 1
    received: list[int] = []

    def stop(number: int) -> None:
        received.append(number)
        log.info("Received %s, shutting down", signal.Signals(number).name)
        gevent.spawn(server.shutdown)

    for number in heeded_signals():
        gevent.signal_handler(number, stop, number)
    # SIGQUIT is what operators send to a JVM to see what it does.
    for number in (signal.SIGUSR1, signal.SIGQUIT):
        gevent.signal_handler(number, server.log_state)
    try:
        server.startup()
    except gevent.GreenletExit:
        return _exit_code(received)
    except Exception as error:
        # A bug of ours, too, ends in the log and in exit code 1, but with its traceback.
        _log_failed_start(error, config.broker_id, needs_traceback=not isinstance(error, START_FAILURES))
        return 1
    # Freeze nearly everything that the start allocated, too: it stays.
    garbage_collection.freeze()
    if port_file is not None:
        _write_port(port_file, server.port())
    gevent.spawn(_warn_of_stale_modules)
    try:
        server.await_shutdown()
    except gevent.GreenletExit:
        # The signal came at the very end of the start.
        server.shutdown()
    return _exit_code(received)


def _log_failed_start(error: Exception, broker_id: int, *, needs_traceback: bool) -> None:
    log.error(
        "[KafkaServer id=%d] Fatal error during KafkaServer startup. Prepare to shutdown%s",
        broker_id,
        "" if needs_traceback else f": {error}",
        exc_info=error if needs_traceback else None,
    )
    log.error("Exiting Kafka due to fatal exception during startup.")


def _exit_code(received: Sequence[int]) -> int:
    """Without a signal the broker gave up by itself."""
    return 128 + received[0] if received else 1


def _write_port(path: Path, port: int) -> None:
    """Written atomically: a waiting process finds the file complete."""
    unfinished = path.with_name(path.name + ".tmp")
    unfinished.write_text(f"{port}\n")
    unfinished.replace(path)


def _warn_of_stale_modules() -> None:
    """For developers. Blocks until the broker is idle: reading the list takes longer than a request."""
    import gevent

    gevent.idle()
    from kafka_zk.compiled import stale_modules

    for module in stale_modules():
        log.warning(
            "%s is older than its source, so outdated code is running; rebuild it with scripts/setup.sh", module
        )


def _raise_open_files_limit() -> int:
    """A segment needs three descriptors; the soft limit of most systems is far below what the hard one allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


if __name__ == "__main__":
    run()
