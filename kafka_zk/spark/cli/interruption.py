"""Ctrl-C and SIGTERM: ends the process at once, with one line and exit code 130 or 143.

Role        Acts: blocks both signals and waits for them in a thread, which always ends the process.
Why         A handler in the main thread would do for our own code, but Spark replaces it by its own, which asks the
            JVM to cancel what it does and waits for the answer; and py4j prints a traceback of the call that it hits.
            A job's files survive kill -9, so there is nothing to wait for. Left alone, a JVM needs up to six
            seconds to end, and prints errors of its threads. So in local mode it is killed, and its
            workers see their input end; on a cluster it sees its own input end, and deregisters.
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

SCRATCH = "kafka-pipeline-"
"""Attempts to delete the scratch folder; the JVM, which ends after us, may still use it."""
LINE = "kafka-pipeline.sh: interrupted; run the same command again to continue."
SIGNALS = (signal.SIGINT, signal.SIGTERM)
LIMIT_S = 5.0
"""What is not done by then is skipped: a line without a reader, a folder that cannot be deleted."""
_begun = threading.Event()


def end_on_interrupt(scratch: Path) -> None:
    """From now on a signal writes a line to stderr, deletes `scratch` and ends the process, and a JVM of this machine.

    For the main thread, before any other is started: they inherit the blocked signals. One that is ignored, as SIGINT
    for a job in the background of a shell's script, stays ignored. Temporary files go to `scratch`.
    """
    tempfile.tempdir = str(scratch)
    heard = {number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN}
    signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    threading.Thread(target=_wait_and_end, args=(heard, scratch), name="interruption", daemon=True).start()


def leave_the_end_to_it() -> None:
    """Blocks forever once a signal has come: later failures are caused by it, so it decides message and exit code."""
    if _begun.is_set():
        threading.Event().wait()


def _wait_and_end(heard: set[signal.Signals], scratch: Path) -> None:
    """Blocks. Wait for a signal, then kill the children and end the process."""
    code = 128 + signal.sigwait(heard)
    _begun.set()
    stderr = _take_stderr()
    try:
        if not _is_on_cluster():
            for child in _children():
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
        # Only now: even on a slow machine no JVM is left behind.
        last = threading.Timer(LIMIT_S, os._exit, (code,))
        last.daemon = True
        with suppress(RuntimeError):  # The system may have no more threads.
            last.start()
        _tell(stderr)
        shutil.rmtree(scratch, ignore_errors=True)
    finally:
        os._exit(code)


def _take_stderr() -> int | None:
    """Our own descriptor; None if there is no stderr. Later output of PySpark's threads is lost.

    They see the JVM end, and the accumulator server prints a traceback of that.
    """
    with suppress(OSError, ValueError, AttributeError):
        shared = sys.stderr.fileno()
        own = os.dup(shared)
        os.dup2(os.open(os.devnull, os.O_WRONLY), shared)
        return own
    return None


def _tell(stderr: int | None) -> None:
    """Blocks while the pipe is full. Does nothing if its reader has ended."""
    if stderr is not None:
        with suppress(OSError):
            # A progress line may be on the terminal without its line end; the main thread may be in the stream.
            start = "\n" if os.isatty(stderr) else ""
            os.write(stderr, f"{start}{LINE}\n".encode())


def _is_on_cluster() -> bool:
    pyspark = sys.modules.get("pyspark.core.context")
    context = pyspark.SparkContext._active_spark_context if pyspark else None
    return context is not None and not context.master.startswith("local")


def _children() -> Iterator[int]:
    """Processes that this one has started; under spark-submit the JVM is none of them."""
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            yield from map(int, (task / "children").read_text().split())
