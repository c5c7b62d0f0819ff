"""A pytest plugin for runs over a planted fault: a test that stands still has met it, and need not wait any longer.

The limits in the tests themselves are those of a busy machine on which nothing is wrong: 30 to 60 s. Here most of what
reaches them is the fault. Unit tests and simulations take seconds at most, so a quarter of a minute tells as much.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import FrameType

import gevent
import pytest

LIMIT_S = 15.0
OF_SECONDS = ("tests/unit/", "tests/simulation/", "tests/crash/", "tests/integration/network/")


class StandsStill(BaseException):
    """No Exception: a test that catches what its own code raises must not take it for that."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """From the set-up of its fixtures to their end."""
    if not item.nodeid.startswith(OF_SECONDS):
        return (yield)
    signal.signal(signal.SIGALRM, _end_the_wait)
    # Again and again: what ends a test may stand still, too.
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S, LIMIT_S)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


_runs = False
"""Whether pytest runs code of the test. Raised in its own code, between two steps, this would be an internal error."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    return (yield from _step())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    return (yield from _step())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    return (yield from _step())


def _step() -> Iterator[None]:
    global _runs
    _runs = True
    try:
        return (yield)
    except StandsStill:
        pass
    finally:
        _runs = False
    # Without its traceback: an instruction in which a signal comes may have no line, which pytest cannot show.
    pytest.fail(f"it stands still for {LIMIT_S:.0f} s", pytrace=False)


def _end_the_wait(number: int, frame: FrameType | None) -> None:
    """Raise where the test waits: in the main greenlet, whichever one the signal was met in."""
    if not _runs:
        return
    hub = gevent.get_hub()
    if gevent.getcurrent() is hub.parent:
        raise StandsStill
    hub.handle_system_error(StandsStill, StandsStill())
