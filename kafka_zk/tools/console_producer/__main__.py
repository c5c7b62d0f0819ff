"""kafka-console-producer.sh: lines of standard input become records.

Differs from Kafka: what was typed before a signal is sent; Apache's tool drops what waits for linger.ms.
Source      kafka.tools.ConsoleProducer, ErrorLoggingCallback.
"""

from __future__ import annotations

import sys

from kafka_zk.tools.common.program import Main, entry_points


def _load() -> Main:
    from kafka_zk.tools.console_producer.command import work

    return work


main, run = entry_points(_load)


if __name__ == "__main__":
    sys.exit(run())
