"""How kafka-reassign-partitions.sh ends with brokers and with ZooKeeper: on stdout, as Apache's does; and by Ctrl-C.

Role        Prints.
Source      ReassignPartitionsCommand.main of 3.9 and of 2.8.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from kafka_zk.tools.common.failures import FAILURES
from kafka_zk.tools.common.java_output import message_of, stack_trace
from kafka_zk.tools.common.options import Options

LIMITS = ("throttle", "replica-alter-log-dirs-throttle")


class Told(Exception):
    """The tool ends with this sentence on stdout and without a trace (Apache's TerseException)."""


def told(
    body: Callable[[], None],
    *,
    failures: tuple[type[Exception], ...] = FAILURES,
    in_words: Callable[[str], str] = str,
    interrupted: str = "",
) -> int:
    """Run `body`, which may block. What it raises is printed on stdout, by `in_words`, and gives 1.

    Raises KeyboardInterrupt, once `interrupted` is told on stderr.
    """
    try:
        body()
    except Told as sentence:
        print(sentence)
    except failures as error:
        print(f"Error: {in_words(message_of(error))}")
        print(in_words(stack_trace(error)))
    except KeyboardInterrupt:
        if interrupted:
            print(interrupted, file=sys.stderr)
        raise
    else:
        return 0
    return 1


def after_interrupt(action: str, options: Options, connection: str = "bootstrap-server") -> str:
    """What to tell whoever ended an --execute with Ctrl-C: its throttles stay, and so does what was begun.

    `connection`: the option that names brokers or ZooKeeper.
    """
    if action != "execute" or not any(map(options.has, LIMITS)):
        return ""
    config = options.text("command-config")
    more = f" --command-config {config}" if config else ""
    return (
        "\nInterrupted. Throttles that were set are still there, and moves that were started go on. "
        "Remove the throttles when nothing moves any more:\n"
        f"  kafka-reassign-partitions.sh --{connection} {options.text(connection)}{more} --verify "
        f"--reassignment-json-file {options.text('reassignment-json-file')}"
    )
