"""Apache Kafka 3.9.1 beside us: its broker, its tools, its clients. The oracle of the interop tests and of bench/.

The jars come from Maven Central through the pom in tests/interop and stay in `.cache/apache-kafka`.
"""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_zk.zk.embedded import find_java
from tests.support.broker import FOR_ONE_BROKER
from tests.support.maven import APPS, CLIENTS_4, KAFKA_2_8, KAFKA_3_4, ORACLE, jars
from tests.support.one_at_a_time import one_at_a_time
from tests.support.processes import ChildProcess, accepts_connections, free_port

START_S = 180
"""A JVM that shares two cores with other ones takes its time."""
JVM_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
LOG4J = """log4j.rootLogger={level}, stderr
log4j.logger.kafka={level}
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.appender.stderr.Target=System.err
"""


@functools.cache
def classpath() -> str:
    """Apache Kafka's jars; fetched by Maven the first time."""
    return f"{jars(ORACLE)}/*"


@functools.cache
def classpath_of_kafka_3_4() -> str:
    """Kafka 3.4's broker."""
    return f"{jars(KAFKA_3_4)}/*"


@functools.cache
def classpath_of_kafka_2_8() -> str:
    """Kafka 2.8's tools."""
    return f"{jars(KAFKA_2_8)}/*"


@functools.cache
def classpath_of_clients_4() -> str:
    """Kafka 4's Java client and nothing else of Kafka."""
    return f"{jars(CLIENTS_4)}/*"


@functools.cache
def classpath_with_apps() -> str:
    """Connect's connectors and Streams beside all of 3.9.1."""
    return f"{classpath()}:{jars(APPS)}/*"


@functools.cache
def _log4j(level: str) -> Path:
    file = ORACLE[1] / f"log4j-{level}.properties"
    with one_at_a_time("maven"):
        _write_once(file, LOG4J.format(level=level))
    return file


def _write_once(file: Path, text: str) -> None:
    """Not anew where it is there: another process's Java may be reading it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


@functools.cache
def _java_launcher() -> Path:
    return find_java().launcher


def java(
    main_class: str, *arguments: str, heap: str = "256m", log_level: str = "WARN", class_path: str | None = None
) -> list[str]:
    """The command line that runs a class of Apache's; `class_path` is another class path than the oracle's."""
    return [
        str(_java_launcher()),
        f"-Xmx{heap}",
        *JVM_OPTIONS,
        "-cp",
        class_path or classpath(),
        f"-Dlog4j.configuration=file:{_log4j(log_level)}",
        main_class,
        *arguments,
    ]


@dataclass(frozen=True)
class ToolRun:
    """What a command-line tool did."""

    exit_code: int
    stdout: str
    stderr: str


def run_tool(main_class: str, *arguments: str, stdin: str | None = None, timeout_s: float = 120) -> ToolRun:
    """Run one of Apache's command-line tools to its end."""
    done = subprocess.run(
        java(main_class, *arguments), input=stdin or "", capture_output=True, text=True, timeout=timeout_s
    )
    return ToolRun(done.returncode, done.stdout, done.stderr)


def topics(bootstrap: str, *arguments: str) -> ToolRun:
    return run_tool("org.apache.kafka.tools.TopicCommand", "--bootstrap-server", bootstrap, *arguments)


class ApacheBroker:
    """A 3.9.1 broker in ZooKeeper mode on a free port of the loopback; `class_path` has another release.

    Its `port` is that of the first listener, where `overrides` name listeners.
    """

    def __init__(
        self,
        folder: Path,
        zookeeper: str,
        *,
        broker_id: int = 0,
        overrides: Mapping[str, str] | None = None,
        heap: str = "384m",
        jvm_options: Sequence[str] = (),
        class_path: str | None = None,
    ) -> None:
        self.folder = folder
        self.log_dir = folder / "data"
        self.broker_id = broker_id
        listeners = (overrides or {}).get("listeners") or f"PLAINTEXT://127.0.0.1:{free_port()}"
        self.port = int(listeners.partition(",")[0].rpartition(":")[2])
        self._properties = {
            "broker.id": str(broker_id),
            "listeners": listeners,
            "zookeeper.connect": zookeeper,
            "log.dirs": str(self.log_dir),
            **FOR_ONE_BROKER,
            "log.cleaner.dedupe.buffer.size": "16777216",
            **(overrides or {}),
        }
        properties = str(folder / "server.properties")
        command = java("kafka.Kafka", properties, heap=heap, log_level="INFO", class_path=class_path)
        command[1:1] = jvm_options
        self.process = ChildProcess(command, folder / "broker.log")

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def launch(self) -> None:
        """Start it, and wait for nothing."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{key}={value}\n" for key, value in self._properties.items())
        (self.folder / "server.properties").write_text(text)
        self.process.start()

    def start(self) -> ApacheBroker:
        self.launch()
        return self.wait_ready()

    def wait_ready(self) -> ApacheBroker:
        """Until it serves, when it was launched."""
        self.process.wait_ready(lambda: accepts_connections(self.port), "Apache Kafka accepts connections", START_S)
        return self

    def stop(self) -> None:
        self.process.stop()

    def kill(self) -> None:
        self.process.kill()

    def says(self, *texts: str, times: int = 1, since: int = 0) -> None:
        """Wait until its output has each of `texts`; see `ChildProcess.says`."""
        self.process.says(*texts, times=times, since=since)
