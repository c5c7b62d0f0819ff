"""The helper process: runs one task after the other, each a function given by name.

Role        A separate program; imports only what its tasks need, nothing of the broker's loop. Its standard input is
            the channel to the broker.
Invariants  It ends with the broker, however that ends: the kernel closes the channel, which a thread watches while a
            task runs. It ends by nothing else: who stops a service signals every process of it.
            What a task was sent and what it answers with is closed afterwards.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kafka_zk.log.helper.wire import Descriptor, Packed, receive

CHANNEL = 0


def serve(channel: socket.socket) -> None:
    """Blocks until the broker closes the channel."""
    while True:
        try:
            message = receive(channel, _never)
        except (EOFError, OSError):
            return
        except Exception as error:
            # The message has arrived, but there is no such function here, say.
            _answer(channel, None, error)
            continue
        assert isinstance(message, tuple)
        _run(channel, *message)


def _run(channel: socket.socket, task: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    result: Any = None
    try:
        try:
            result = task(*arguments)
        except Exception as error:
            # The task's own error, of whatever class, is its answer.
            _answer(channel, None, error)
        else:
            _answer(channel, result, None)
    finally:
        results = result if isinstance(result, tuple) else (result,)
        for each in (*arguments, *results):
            if isinstance(each, Descriptor):
                each.close()


def _answer(channel: socket.socket, result: object, error: Exception | None) -> None:
    if error is not None:
        import traceback

        error.add_note("".join(["In the helper process:\n", *traceback.format_exception(error)]))
    try:
        packed = Packed((result, error))
        if error is not None:
            pickle.loads(pickle.dumps(error))  # some are only found out over there
    except Exception as unsendable:
        # Pickle raises what it likes.
        failure = RuntimeError(f"{result if error is None else error!r} cannot be sent: {unsendable!r}")
        for note in getattr(error, "__notes__", ()):
            failure.add_note(note)
        packed = Packed((None, failure))
    with suppress(OSError):  # the broker has exited
        packed.send(channel, _never)


def _never() -> None:
    raise AssertionError("this end of the channel blocks")


def _end_with_broker(channel: socket.socket) -> None:
    """In its own thread: a task may run for minutes."""
    watched = select.poll()
    watched.register(channel, select.POLLRDHUP)
    watched.poll()
    os._exit(0)


def main() -> None:
    """`python -m kafka_zk.log.helper.main niceness`"""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.nice(int(sys.argv[1]))
    channel = socket.socket(fileno=CHANNEL)
    threading.Thread(target=_end_with_broker, args=(channel,), daemon=True).start()
    serve(channel)


if __name__ == "__main__":
    main()
