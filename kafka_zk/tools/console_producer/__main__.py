"""kafka-console-producer.sh: lines of standard input become records.

Differs from Kafka: what was typed before a signal is sent; Apache's tool drops what waits for linger.ms.
Source      kafka.tools.ConsoleProducer, ErrorLoggingCallback.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kafka_zk.tools.common.program import Main, run_here, run_program


def main(arguments: Sequence[str] | None = None) -> int:
    return run_here(_load(), arguments)


def _load() -> Main:
    from kafka_zk.tools.console_producer.command import work

    return work


def run() -> int:
    """`main` as a program, which a signal shuts down cleanly."""
    return run_program(_load)


if __name__ == "__main__":
    sys.exit(run())
