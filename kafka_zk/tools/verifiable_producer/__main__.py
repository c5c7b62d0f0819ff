"""kafka-verifiable-producer.sh: sends numbers, and prints the result of each.

Source      org.apache.kafka.tools.VerifiableProducer.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kafka_zk.standard_streams import forgive
from kafka_zk.tools.common.program import Main, run_here, run_program


def main(arguments: Sequence[str] | None = None) -> int:
    return run_here(_load(), arguments)


def _load() -> Main:
    from kafka_zk.tools.verifiable_producer.command import work

    return work


def _load_and_forgive() -> Main:
    # It prints in the sender's thread, too, where a closed pipe goes unnoticed.
    forgive("stdout")
    return _load()


def run() -> int:
    """`main` as a program, which a signal shuts down cleanly."""
    return run_program(_load_and_forgive)


if __name__ == "__main__":
    sys.exit(run())
