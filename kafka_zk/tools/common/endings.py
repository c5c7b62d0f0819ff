"""How a tool ends: its error message, the stream for it, and the exit code.

Role        Printing for all tools. A tool raises; this module prints what it raised.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from kafka_zk.standard_streams import forgive, open_closed_streams
from kafka_zk.tools.common.failures import FAILURES, Refused
from kafka_zk.tools.common.java_output import message_of, stack_trace
from kafka_zk.tools.common.options import VERSION_TEXT, UsageError, VersionAsked, usage_of


def run_as_program(main: Callable[[], int]) -> int:
    """The exit code of `main`. A closed pipe, a full disk, a closed stream and Ctrl-C are ignored silently,
    as Java ignores them: the work is completed."""
    open_closed_streams()
    forgive("stdout", "stderr")
    try:
        code = main()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    return code


def tell_with_trace(error: Exception) -> None:
    """The message, the trace, and an empty line: what most of Apache's tools print themselves."""
    print(message_of(error), file=sys.stderr)
    print(stack_trace(error), file=sys.stderr)


def tell_as_thrown(error: Exception) -> None:
    """What Java prints of an exception that the main method did not catch."""
    print(thrown_by_main(error), end="", file=sys.stderr)


def thrown_by_main(error: BaseException) -> str:
    """The same as text."""
    return f'Exception in thread "main" {stack_trace(error)}'


def exit_code_of(
    body: Callable[[], int | None],
    *,
    tool: str,
    tell: Callable[[Exception], None] = tell_with_trace,
    usage: Callable[[str], str] = usage_of,
    failures: tuple[type[Exception], ...] = FAILURES,
) -> int:
    """Run `body`, which may block and returns the exit code or None for 0. What it raises is printed, and gives 1.

    VersionAsked prints the version on stdout. UsageError prints its sentence and the usage of `tool`, Refused
    its sentence alone; the other `failures` go to `tell`.
    """
    try:
        return body() or 0
    except VersionAsked:
        print(VERSION_TEXT)
        return 0
    except UsageError as error:
        print(error, file=sys.stderr)
        print(usage(tool), end="", file=sys.stderr)
    except Refused as error:
        print(error, file=sys.stderr)
    except failures as error:
        tell(error)
    return 1
