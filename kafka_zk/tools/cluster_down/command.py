"""The work of kafka-cluster-down.sh."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_zk.tools.common.failures import Refused
from kafka_zk.tools.common.local_cluster.arguments import add_timeout, parser_of, run_tool, say
from kafka_zk.tools.common.local_cluster.folder import ClusterFolder
from kafka_zk.tools.common.local_cluster.interruption import Interrupted, Interruption
from kafka_zk.tools.common.local_cluster.servers import (
    Running,
    running_brokers,
    running_zookeeper,
    stop,
    was_stopped_cleanly,
)

if TYPE_CHECKING:
    from kafka_zk.tools.common.program import Shutdown

STOP_S = 300
DESCRIPTION = """\
Stops the brokers that kafka-cluster-up.sh started out of a folder: one after the other, the last first. Each hands its
partitions over (controlled shutdown) and closes its logs before the next is asked. The ZooKeeper of --with-zookeeper
is stopped at the end. The data stay.

Kills nothing: a broker that takes longer than --timeout is named, and goes on stopping."""
EPILOG = """\
examples:
  kafka-cluster-down.sh                        the brokers in ./kafka-cluster
  kafka-cluster-down.sh --folder /srv/kafka
"""


def work(arguments: Sequence[str], shutdown: Shutdown) -> int:
    """Blocks. The exit code."""
    parser = parser_of("kafka-cluster-down", DESCRIPTION, EPILOG)
    add_timeout(parser, STOP_S, "that a broker may take to stop")
    return run_tool(parser, arguments, shutdown, down)


def down(options: argparse.Namespace, interruption: Interruption) -> int:
    """Blocks. Raises Refused, OSError, Interrupted."""
    folder = ClusterFolder(options.folder)
    folder.check()
    with folder.lock():
        brokers, zookeeper = running_brokers(folder), running_zookeeper(folder)
        if not brokers and zookeeper is None:
            raise Refused(f"nothing is running in {folder.path}")
        unclean = []
        for broker_id, running in sorted(brokers.items(), reverse=True):
            _stop(f"broker {broker_id}", running, interruption, options.timeout)
            if not was_stopped_cleanly(folder, broker_id):
                unclean.append(broker_id)
        if zookeeper is not None:
            _stop("ZooKeeper", zookeeper, interruption, options.timeout)
    if unclean:
        names = ", ".join(f"broker {each}" for each in sorted(unclean))
        raise Refused(f"not cleanly stopped, so the next start checks the logs: {names}; see logs/server.log of each")
    return 0


def _stop(name: str, running: Running, interruption: Interruption, timeout_s: float) -> None:
    began_s = time.monotonic()
    say(f"Stop {name}")
    try:
        stop(name, running, interruption, timeout_s)
    except Interrupted as error:
        raise Interrupted(f"{name} goes on stopping, and those before it run on") from error
    say(f"{name} stopped after {time.monotonic() - began_s:.1f} s")
