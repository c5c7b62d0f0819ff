"""The Spark session that a job runs in.

Role        Acts: starts Spark's JVM, or joins the one that spark-submit started.
Invariants  Workers run the driver's Python unless told otherwise. Times are UTC, so that dates in paths do not depend
            on a machine. On a master that is not local, workers get kafka_zk as an archive: no checkout on their path.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import kafka_zk
from kafka_zk.spark.cli.package import UNPACKED_AS, pack

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_zk.spark.settings.declaration import Settings

LOGGING = Path(__file__).with_name("log4j2.properties")
TRIES = "spark.task.maxFailures"
JVM_OPTIONS = "spark.driver.extraJavaOptions"
DEFAULTS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # A failed task only costs its retry; a job that cannot continue must fail soon.
    TRIES: "4",
    JVM_OPTIONS: f"-Dlog4j.configurationFile={LOGGING.as_uri()}",
}
DEFAULT_MASTER = "local[*,{tries}]"
"""All processors; a failed task is retried, which Spark does not do in local mode by default."""
ONE_TRY = frozenset(("ingest", "restore", "mirror"))
"""For jobs that find out on the driver what was sent: a failed task ends the job, and the same command continues."""
ONCE = {TRIES: "1", "spark.stage.maxConsecutiveAttempts": "1", "spark.stage.ignoreDecommissionFetchFailure": "false"}
"""A stage that starts again after lost shuffle files counts its tasks' attempts from 0 again, beside running ones."""
LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def jvm_option(text: str) -> str:
    """One option of those that Spark splits at blanks: quoted, as its launcher reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def start_session(job: str, settings: Settings, scratch: Path) -> SparkSession:
    """Blocks for the seconds that a JVM needs. `scratch` takes a package made for the workers, and on this machine
    alone the JVM's temporary files."""
    given = job_conf(job, settings.mapping("conf"))
    master = settings.text("master")
    if _is_local(master):
        given = {JVM_OPTIONS: f"{DEFAULTS[JVM_OPTIONS]} {jvm_option(f'-Djava.io.tmpdir={scratch}')}"} | given
    package = _package(settings, master, scratch)
    if package is not None:
        # The planner of a read runs beside the driver with the workers' Python, which has no kafka_zk of its own.
        paths = (str(Path(kafka_zk.__file__).resolve().parent.parent), os.environ.get("PYTHONPATH"))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    return make_session(f"kafka_zk {job}", master, given, package=package)


def job_conf(job: str, given: dict[str, str]) -> dict[str, str]:
    """Spark's settings for a job; explicit settings take precedence."""
    return (ONCE if job in ONE_TRY else {}) | given


def make_session(name: str, master: str, conf: dict[str, str], *, package: Path | None = None) -> SparkSession:
    """A session on `master`; empty for the one of spark-submit, else our default."""
    # Spark asks the environment of the driver which Python its workers start.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    from kafka_zk.spark import register

    builder = SparkSession.builder.appName(name)
    own = DEFAULTS | (LOCAL if _is_local(master) else {})
    # Spark 4.2 warns of every pandas from 3.0 on, on every start.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    merged = {**own, **(package_conf(package) if package else {}), **conf}
    if master or not _is_submitted():
        builder = builder.master(master or DEFAULT_MASTER.format(tries=merged[TRIES]))
    for key, value in merged.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    register(session)
    return session


def _is_submitted() -> bool:
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _is_local(master: str) -> bool:
    """Whether we start a JVM that does all of the work itself."""
    return not _is_submitted() and (master or "local").startswith("local")


def package_conf(package: Path) -> dict[str, str]:
    """Spark's settings by which workers unpack the package in their own folder and import from there."""
    return {
        "spark.archives": f"{package}#{UNPACKED_AS}",
        "spark.executorEnv.PYTHONPATH": UNPACKED_AS,
    }


def _package(settings: Settings, master: str, scratch: Path) -> Path | None:
    if settings.has("workers-package"):
        return Path(settings.text("workers-package"))
    if not master or master.startswith("local") or "spark.archives" in settings.mapping("conf"):
        return None
    return pack(scratch / "kafka_zk-workers.tar.gz", [])
