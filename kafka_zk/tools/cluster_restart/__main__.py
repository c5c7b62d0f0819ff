"""kafka-cluster-restart.sh: restarts the brokers of a folder, one after the other, while the cluster serves.

Not in Apache.
"""

from __future__ import annotations

import sys

from kafka_zk.tools.common.program import Main, entry_points


def _load() -> Main:
    from kafka_zk.tools.cluster_restart.command import work

    return work


main, run = entry_points(_load)


if __name__ == "__main__":
    sys.exit(run())
