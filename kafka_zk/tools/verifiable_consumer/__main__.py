"""kafka-verifiable-consumer.sh: consumes, and prints every event.

Source      org.apache.kafka.tools.VerifiableConsumer.
"""

from __future__ import annotations

import sys

from kafka_zk.tools.common.program import Main, entry_points


def _load() -> Main:
    from kafka_zk.tools.verifiable_consumer.command import work

    return work


main, run = entry_points(_load)


if __name__ == "__main__":
    sys.exit(run())
