"""kafka-streams-application-reset.sh: resets an application of Kafka Streams.

Input is read again from where the options say, intermediate topics from their ends; internal topics are deleted.
Source: org.apache.kafka.tools.StreamsResetter.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kafka_zk.standard_streams import forgive
from kafka_zk.tools.common.program import Main, run_here, run_program


def main(arguments: Sequence[str] | None = None) -> int:
    return run_here(_load(), arguments)


def _load() -> Main:
    from kafka_zk.tools.streams_application_reset.command import work

    return work


def _load_and_forgive() -> Main:
    # It prints what it is about to do: that is done even if the reader closes the pipe.
    forgive("stdout")
    return _load()


def run() -> int:
    """`main` as a program, which a signal shuts down cleanly."""
    return run_program(_load_and_forgive)


if __name__ == "__main__":
    sys.exit(run())
