"""Runs a tool until it ends or is told to stop: signals, cleanup, exit codes.

Role        Acts. The tool's work runs in a thread of its own, as it may block anywhere; the main thread only waits for
            the end of the work or a signal, and then has the ending done by a third thread.
Invariants  No signal ever interrupts the work or the ending: Python runs handlers in the main thread, which holds no
            lock, writes to no socket and calls no client. So a wakeup is never cut short.
            The ending (hooks, and what is still in the buffers of stdout and stderr) is done once. A second signal
            waits for nothing, but `timeout` sends each signal twice within microseconds: that counts as one.
            A signal gives the exit code 128 + its number, as from Java; a signal ignored at the start stays ignored.
Source      Java's Runtime.addShutdownHook, Exit.addShutdownHook.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, cast

from kafka_zk.standard_streams import cannot_be_printed, forgive, open_closed_streams

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_DONE = 0
_OVER = 255
"""Bytes in the pipe that are not signal numbers."""
ONE_SIGNAL_S = 0.3
"""Signals this soon after the first count as the same one: nobody presses Ctrl-C twice in that time."""


class Shutdown:
    """What is to be done when the program ends, by itself or by a signal: hooks, in the order they were added."""

    def __init__(self) -> None:
        self._hooks: list[Callable[[], None]] = []
        self._begun = False
        self._lock = threading.Lock()

    def add(self, hook: Callable[[], None]) -> None:
        """`hook` runs in a thread of its own, while the work may still be running. Added too late, it is not run."""
        with self._lock:
            if not self._begun:
                self._hooks.append(hook)

    def run(self) -> None:
        """Blocks until every hook has ended; only the first call does anything."""
        with self._lock:
            if self._begun:
                return
            self._begun = True
        for hook in self._hooks:
            hook()


Main = Callable[[Sequence[str], Shutdown], int]


def run_here(main: Main, arguments: Sequence[str] | None) -> int:
    """Run the work in this thread, then its hooks; signals are not handled."""
    shutdown = Shutdown()
    code = main(list(sys.argv[1:] if arguments is None else arguments), shutdown)
    shutdown.run()
    return code


def run_program(load: Callable[[], Main]) -> int:
    """Run what `load` imports, as a program with the process's arguments. Leaves the process, never returns."""
    open_closed_streams()
    forgive("stderr")
    heeded = heeded_signals()
    for number in heeded:
        # While modules are imported there is nothing to clean up: the process just exits, without a traceback.
        signal.signal(number, signal.SIG_DFL)
    main = load()
    code = _supervised(main, sys.argv[1:], heeded)
    os._exit(code)


def entry_points(load: Callable[[], Main]) -> tuple[Callable[..., int], Callable[[], int]]:
    """`main(arguments=None)` and `run()` of a command: its work in this thread, and as a program that heeds signals.

    `load` imports the work: what a client needs takes a second, and a signal meanwhile must end the program quietly.
    """

    def main(arguments: Sequence[str] | None = None) -> int:
        return run_here(load(), arguments)

    def run() -> int:
        return run_program(load)

    return main, run


def heeded_signals() -> list[signal.Signals]:
    """The signals that end this program; if ignored at the start they stay so, as in Java: nohup, `&` in a script."""
    return [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


def _supervised(main: Main, arguments: Sequence[str], signals: Sequence[signal.Signals]) -> int:
    news, tell = os.pipe()
    os.set_blocking(tell, False)
    shutdown = Shutdown()
    result = [1]

    def work() -> None:
        try:
            result[0] = main(arguments, shutdown)
        except BaseException as error:
            if cannot_be_printed(error):
                # The reader closed the pipe, and has what it wanted; or the disk is full, which Java ignores.
                result[0] = 0
            else:
                # This is the top of the program: a bug is printed, and the process exits with 1 instead of hanging.
                traceback.print_exc()
        finally:
            os.write(tell, bytes([_DONE]))

    def ending() -> None:
        try:
            shutdown.run()
        except Exception:
            # As above; and the buffers must still be written.
            traceback.print_exc()
        finally:
            _flush()
            os.write(tell, bytes([_OVER]))

    signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    for number in signals:
        signal.signal(number, _nothing)
    threading.Thread(target=work, name="work", daemon=True).start()
    first = os.read(news, 1)[0]
    try:
        threading.Thread(target=ending, name="ending", daemon=True).start()
    except RuntimeError:
        # The system has no further thread. Here, too, no signal interrupts it; a second one waits for it, however.
        ending()
    return _exit_code(first, lambda: os.read(news, 1)[0], result)


def _exit_code(
    first: int, next_news: Callable[[], int], result: Sequence[int], now_s: Callable[[], float] = time.monotonic
) -> int:
    """Blocks until the ending that `first` began is over; only a second signal cuts it short."""
    one_signal_until_s = now_s() + ONE_SIGNAL_S if first != _DONE else 0.0
    while True:
        later = next_news()
        if later == _OVER:
            return result[0] if first == _DONE else 128 + first
        if later != _DONE and now_s() >= one_signal_until_s:
            return 128 + later


def binary_stdout() -> BinaryIO:
    """Stdout for bytes; a test's text stream takes them as UTF-8."""
    buffer = getattr(sys.stdout, "buffer", None)
    return cast(BinaryIO, _TextAsBinary() if buffer is None else buffer)


class _TextAsBinary(io.RawIOBase):
    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        sys.stdout.write(bytes(data).decode("utf-8", "replace"))
        return len(data)


def leave_stdout() -> None:
    """Drop what is still in the buffer: the reader has closed the pipe, and a flush would fail a second time."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _nothing(number: int, frame: object) -> None:
    """The number is in the pipe already."""


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
