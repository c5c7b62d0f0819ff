"""What everybody is doing at this moment, printed: for a test of many threads and processes that has failed."""

from __future__ import annotations

import faulthandler
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from kafka_zk.protocol.messages.describe_groups import DESCRIBE_GROUPS_REQUEST, DescribeGroupsRequest
from tests.support.broker import OurBroker
from tests.support.client_log import ClientLog
from tests.support.processes import wait_until
from tests.support.raw_client import ConnectionClosed, RawClient

SHOWN_LINES = 300
NOISE = ("FetchRe", "|DUMP", "|CGRPQUERY|")
"""In the lines of the log that tell of fetches, assignments as a whole and searches for the coordinator: too many."""


@contextmanager
def account_of_failures(broker: OurBroker, log: ClientLog, *groups: str) -> Iterator[None]:
    """A failure in here is told together with our stacks, the broker's state, its groups and the clients' log."""
    try:
        yield
    except BaseException as error:
        # A call that hangs is named "close() of <client>": what this client said last is what explains it.
        lines = log.lines(*(f"|{word}#" for word in str(error).split()))
        told = [line for line in lines or log.lines() if not any(word in line for word in NOISE)]
        print(_our_stacks(), _state_of(broker), *(_described(broker, group) for group in groups), sep="\n\n")
        print(f"the end of {log.path}, without the noise:", *told[-SHOWN_LINES:], sep="\n")
        raise


def _our_stacks() -> str:
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        return f"our threads:\n{file.read()}"


def _state_of(broker: OurBroker) -> str:
    """What the broker says of itself when asked by a signal; greenlets come last."""
    if not broker.process.is_running:
        return "the broker does not run"
    said = len(broker.process.output())
    os.kill(broker.process.pid, signal.SIGUSR1)
    try:
        wait_until(lambda: "\ngreenlets (" in broker.process.output()[said:], "the broker tells its state", 10)
    except AssertionError as error:
        return str(error)
    return f"the broker:\n{broker.process.output()[said:]}"


def _described(broker: OurBroker, group: str) -> str:
    try:
        with RawClient(broker.bootstrap, timeout_s=10) as client:
            return f"{client.send(DESCRIBE_GROUPS_REQUEST, DescribeGroupsRequest(groups=[group]), 5)}"
    except (OSError, ConnectionClosed) as error:
        return f"{group} cannot be described: {error!r}"
