"""`python -m kafka_zk.tools.consumer_groups`, and the installed command."""

import sys

from kafka_zk.tools.endings import run_as_program
from kafka_zk.tools.kafka_consumer_groups.command import main


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
