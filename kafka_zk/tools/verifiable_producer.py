"""`python -m kafka_zk.tools.verifiable_producer`, and the installed command."""

import sys

from kafka_zk.tools.program import Main, forgive, run_program


def _load() -> Main:
    from kafka_zk.tools.verifiable.producer import work

    # It prints in the sender's thread, too, where nobody hears of a reader that has gone.
    forgive("stdout")
    return work


def run() -> int:
    return run_program(_load)


if __name__ == "__main__":
    sys.exit(run())
