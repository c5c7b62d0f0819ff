"""kafka-console-consumer.sh: prints the records of topics.

Source      org.apache.kafka.tools.consumer.ConsoleConsumer.
"""

from __future__ import annotations

import sys

from kafka_zk.tools.common.program import Main, entry_points


def _load() -> Main:
    from kafka_zk.tools.console_consumer.command import work

    return work


main, run = entry_points(_load)


if __name__ == "__main__":
    sys.exit(run())
