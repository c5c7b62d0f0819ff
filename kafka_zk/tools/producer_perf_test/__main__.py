"""kafka-producer-perf-test.sh: measures producer throughput and latency.

Source      org.apache.kafka.tools.ProducerPerformance.
"""

from __future__ import annotations

import sys

from kafka_zk.tools.common.program import Main, entry_points


def _load() -> Main:
    from kafka_zk.tools.producer_perf_test.command import work

    return work


main, run = entry_points(_load)


if __name__ == "__main__":
    sys.exit(run())
