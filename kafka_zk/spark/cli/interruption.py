"""Ctrl-C: the process ends at once, with one line and exit code 130.

Role        Acts: blocks SIGINT and waits for it in a thread, which ends the process.
Why         A handler in the main thread would do for our own code, but Spark puts its own in that place, which asks the
            JVM to cancel what it does and waits for the answer; and py4j prints a traceback of the call that it hits.
            What a job keeps bears kill -9, so there is nothing to wait for. Left to itself a JVM needs up to six
            seconds to end, and prints what its threads make of that. So on this machine alone it is killed, and its
            workers see their input end; on a cluster it sees its own input end, and takes leave of the cluster.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

INTERRUPTED = 130


def end_on_interrupt(line: str, scratch: Path) -> None:
    """From now on SIGINT writes `line` to stderr, deletes `scratch` and ends the process, and a JVM of this machine.

    For the main thread, before any other is started: they inherit the blocked signal. Where SIGINT is ignored, as for a
    job in the background of a shell's script, it stays so. What is temporary comes into `scratch`.
    """
    tempfile.tempdir = str(scratch)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    threading.Thread(target=_wait_and_end, args=(line, scratch), name="interruption", daemon=True).start()


def _wait_and_end(line: str, scratch: Path) -> None:
    """Blocks."""
    signal.sigwait({signal.SIGINT})
    if not _is_on_cluster():
        for child in _children():
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
    # A progress line may stand on the terminal without its end; the streams may be in use by the main thread.
    start = "\n" if sys.stderr.isatty() else ""
    os.write(sys.stderr.fileno(), f"{start}{line}\n".encode())
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(INTERRUPTED)


def _is_on_cluster() -> bool:
    pyspark = sys.modules.get("pyspark.core.context")
    context = pyspark.SparkContext._active_spark_context if pyspark else None
    return context is not None and not context.master.startswith("local")


def _children() -> Iterator[int]:
    """Processes that this one has started; under spark-submit the JVM is none of them."""
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            yield from map(int, (task / "children").read_text().split())
