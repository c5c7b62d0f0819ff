"""Work that may block, in a thread of the hub: the loop goes on meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gevent import get_hub

from kafka_zk.config.errors import ConfigException

Result = TypeVar("Result")


def in_thread(work: Callable[[], Result]) -> Result:
    """Blocks. What `work` returns. Raises ConfigException; it must raise nothing else."""
    outcome: Result | ConfigException = get_hub().threadpool.apply(_outcome_of, (work,))
    if isinstance(outcome, ConfigException):
        raise outcome
    return outcome


def _outcome_of(work: Callable[[], Result]) -> Result | ConfigException:
    # gevent prints the traceback of every exception that leaves a thread.
    try:
        return work()
    except ConfigException as error:
        return error
