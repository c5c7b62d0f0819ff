"""kafka-verifiable-consumer.sh: consumes, and prints every event.

Source      org.apache.kafka.tools.VerifiableConsumer.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kafka_zk.tools.common.program import Main, run_here, run_program


def main(arguments: Sequence[str] | None = None) -> int:
    return run_here(_load(), arguments)


def _load() -> Main:
    from kafka_zk.tools.verifiable_consumer.command import work

    return work


def run() -> int:
    """`main` as a program, which a signal shuts down cleanly."""
    return run_program(_load)


if __name__ == "__main__":
    sys.exit(run())
