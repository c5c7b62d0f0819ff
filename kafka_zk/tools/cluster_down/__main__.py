"""kafka-cluster-down.sh: stops the brokers of a folder, one after the other, and then its ZooKeeper.

Not in Apache.
"""

from __future__ import annotations

import sys

from kafka_zk.tools.common.program import Main, entry_points


def _load() -> Main:
    from kafka_zk.tools.cluster_down.command import work

    return work


main, run = entry_points(_load)


if __name__ == "__main__":
    sys.exit(run())
