"""Apache Kafka 3.9.1 beside us: its broker, its tools, its clients. The oracle of the interop tests and of bench/.

The jars come from Maven Central through the pom in tests/interop and stay in `.cache/apache-kafka`.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_zk.zk.embedded import find_java
from tests.support.broker import FOR_ONE_BROKER
from tests.support.one_at_a_time import one_at_a_time
from tests.support.processes import ChildProcess, accepts_connections, free_port

PROJECT = Path(__file__).resolve().parents[2]
CACHE = PROJECT / ".cache" / "apache-kafka"
POM = PROJECT / "tests" / "interop" / "pom.xml"
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
    with one_at_a_time("maven"):
        stamp = CACHE / "pom.xml"
        if not stamp.exists() or stamp.read_bytes() != POM.read_bytes():
            _fetch()
            shutil.copy(POM, stamp)
        for level in ("WARN", "INFO"):
            _write_once(CACHE / f"log4j-{level}.properties", LOG4J.format(level=level))
    return f"{CACHE}/libs/*"


def _fetch() -> None:
    maven = shutil.which("mvn")
    assert maven, "the interop tests need Maven (Debian: apt-get install maven) to fetch Apache Kafka's jars"
    shutil.rmtree(CACHE, ignore_errors=True)
    subprocess.run(
        [maven, "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={CACHE}/libs"],
        check=True,
    )


def _write_once(file: Path, text: str) -> None:
    """Not anew where it is there: another process's Java may be reading it."""
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


@functools.cache
def _java_launcher() -> Path:
    return find_java().launcher


def java(main_class: str, *arguments: str, heap: str = "256m", log_level: str = "WARN") -> list[str]:
    """The command line that runs a class of Apache's."""
    return [
        str(_java_launcher()),
        f"-Xmx{heap}",
        *JVM_OPTIONS,
        "-cp",
        classpath(),
        f"-Dlog4j.configuration=file:{CACHE}/log4j-{log_level}.properties",
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
    """A 3.9.1 broker in ZooKeeper mode on a free port of the loopback."""

    def __init__(
        self,
        folder: Path,
        zookeeper: str,
        *,
        broker_id: int = 0,
        overrides: Mapping[str, str] | None = None,
        heap: str = "384m",
        jvm_options: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self.log_dir = folder / "data"
        self.broker_id = broker_id
        self.port = free_port()
        self._properties = {
            "broker.id": str(broker_id),
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "zookeeper.connect": zookeeper,
            "log.dirs": str(self.log_dir),
            **FOR_ONE_BROKER,
            "log.cleaner.dedupe.buffer.size": "16777216",
            **(overrides or {}),
        }
        command = java("kafka.Kafka", str(folder / "server.properties"), heap=heap, log_level="INFO")
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
        self.process.wait_ready(lambda: accepts_connections(self.port), "Apache Kafka accepts connections")
        return self

    def stop(self) -> None:
        self.process.stop()

    def kill(self) -> None:
        self.process.kill()
