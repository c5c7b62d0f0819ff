"""kafka-cluster-up.sh N: starts several brokers on this machine, each on ports and directories of its own.

Not in Apache. See ../common/local_cluster/plan.py for the rule that gives them their properties.
"""

from __future__ import annotations

import sys

from kafka_zk.tools.common.program import Main, entry_points


def _load() -> Main:
    from kafka_zk.tools.cluster_up.command import work

    return work


main, run = entry_points(_load)


if __name__ == "__main__":
    sys.exit(run())
