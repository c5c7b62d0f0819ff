"""kafka-consumer-perf-test.sh: measures consumer throughput.

Source      org.apache.kafka.tools.ConsumerPerformance.
"""

from __future__ import annotations

import sys

from kafka_zk.tools.common.program import Main, entry_points


def _load() -> Main:
    from kafka_zk.tools.consumer_perf_test.command import work

    return work


main, run = entry_points(_load)


if __name__ == "__main__":
    sys.exit(run())
