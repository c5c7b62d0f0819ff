"""Keeps long-lived greenlets running whatever error one task raises.

Role        Acts. Every long-lived greenlet of the broker is started here, so that a bug of ours in one request, message
            or task costs that one and not the greenlet that serves all others.
Invariants  What is unexpected is logged with its traceback and counted by name; the loop continues after a pause. A
            greenlet that is killed ends, as one whose loop returns.
            The counts are the process's, as its log is: there is one broker in it.
Source      Kafka 3.9 ShutdownableThread ends the thread instead, and FatalExitError the process.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

import gevent

PAUSE_S = 0.1
"""Until the loop continues: a fault that does not go away must not keep everybody else from running."""

log = logging.getLogger("kafka.server.Supervision")

unexpected_errors: Counter[str] = Counter()
"""How often something unexpected was caught, by the name of the loop."""


def spawn_for_life(
    name: str,
    loop: Callable[[], None],
    *,
    on_error: Callable[[Exception], None] | None = None,
    pause_s: float = PAUSE_S,
) -> gevent.Greenlet[..., None]:
    """Run `loop` in a greenlet until it returns; begin it again after an unexpected exception.

    `on_error` fails what the loop was working on, so that the same one does not come up again; it may block.
    """
    return gevent.spawn(keep_running, name, loop, on_error, pause_s)


def keep_running(
    name: str,
    loop: Callable[[], None],
    on_error: Callable[[Exception], None] | None = None,
    pause_s: float = PAUSE_S,
) -> None:
    """Blocks. The greenlet of `spawn_for_life`."""
    while True:
        try:
            loop()
            return
        except Exception as error:
            # A bug of ours, or a peer that sends what nobody thought of: this greenlet serves others, too.
            caught(name)
            if on_error is not None:
                try:
                    on_error(error)
                except Exception:
                    caught(name)
        gevent.sleep(pause_s)


def caught(name: str, detail: Any = "") -> None:
    """Log the exception that is being handled, with its traceback, and count it."""
    unexpected_errors[name] += 1
    log.exception("[%s] Unexpected error%s; continuing", name, f" ({detail})" if detail else "")
