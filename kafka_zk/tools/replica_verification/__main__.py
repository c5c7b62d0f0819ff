"""kafka-replica-verification.sh: compares the replicas of topics, for as long as it runs.

Source      org.apache.kafka.tools.ReplicaVerificationTool.
"""

from __future__ import annotations

import sys

from kafka_zk.tools.common.program import Main, entry_points


def _load() -> Main:
    from kafka_zk.tools.replica_verification.command import work

    return work


main, run = entry_points(_load)


if __name__ == "__main__":
    sys.exit(run())
