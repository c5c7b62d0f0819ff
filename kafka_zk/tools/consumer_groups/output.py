"""Prints an error of kafka-consumer-groups.sh: on stdout, with the trace on stderr and exit code 0."""

from __future__ import annotations

import sys

from kafka_zk.tools.common.java_output import stack_trace


def print_error(text: str, error: BaseException | None = None) -> None:
    print(f"\nError: {text}")
    if error is not None:
        print(stack_trace(error), end="", file=sys.stderr)
