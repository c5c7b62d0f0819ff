"""Builds large responses in their own greenlet, so that the one that ends the wait is not blocked.

Role        For responses that may be large: to large requests, from the controller, to commits of many partitions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import gevent

from kafka_zk.giving_way import InTurns
from kafka_zk.network.pending import Pending

T = TypeVar("T")
R = TypeVar("R")


def when_settled(pending: Pending[T], act: Callable[[Pending[T]], object]) -> None:
    """Call `act(pending)` once `pending` is settled. Blocks as `act` does if it is settled already.

    Otherwise `act` runs later, in its own greenlet, which yields to others. `act` must raise nothing.
    """

    def spawn(settled: Pending[T]) -> None:
        gevent.spawn(_act_in_turns, act, settled)

    if pending.is_done:
        act(pending)
    else:
        pending.on_complete(spawn)


def _act_in_turns(act: Callable[[Pending[T]], object], settled: Pending[T]) -> None:
    """Blocks. Run `act` on the settled pending, yielding to other greenlets."""
    with InTurns(large=True):
        act(settled)


def then_apart(pending: Pending[T], build: Callable[[T], R]) -> Pending[R]:
    """As `Pending.then`, but `build` yields. The result is notified when its client leaves, as `pending` is.

    Blocks as `build` if `pending` is settled already.
    """
    answer: Pending[R] = Pending()

    def make(settled: Pending[T]) -> None:
        try:
            with InTurns(large=True):
                made = build(settled.value)
        except Exception as error:
            # Any error must go to the greenlet that waits for the answer.
            answer.fail(error)
        else:
            answer.complete(made)

    when_settled(pending, make)
    answer.when_left(pending.leave)
    return answer
