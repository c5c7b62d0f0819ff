"""`python -m kafka_zk.tools.streams_application_reset`, and the installed command."""

import sys

from kafka_zk.tools.program import Main, forgive, run_program


def _load() -> Main:
    from kafka_zk.tools.streams_reset.command import work

    # It prints what it is about to do: that is done also when nobody reads on.
    forgive("stdout")
    return work


def run() -> int:
    return run_program(_load)


if __name__ == "__main__":
    sys.exit(run())
