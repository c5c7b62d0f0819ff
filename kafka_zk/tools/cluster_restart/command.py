"""The work of kafka-cluster-restart.sh."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.properties import read_file
from kafka_zk.tools.cluster_restart import units
from kafka_zk.tools.cluster_restart.replicas import Asker, address_for, restart_order
from kafka_zk.tools.common.command_config import read_command_config
from kafka_zk.tools.common.failures import Refused
from kafka_zk.tools.common.java_output import show_warnings
from kafka_zk.tools.common.local_cluster.arguments import add_timeout, parser_of, run_tool, say
from kafka_zk.tools.common.local_cluster.folder import ClusterFolder
from kafka_zk.tools.common.local_cluster.interruption import Interrupted, Interruption
from kafka_zk.tools.common.local_cluster.servers import (
    Running,
    port_of,
    running_brokers,
    start_broker,
    stop,
    wait_until_serving,
    was_stopped_cleanly,
)

if TYPE_CHECKING:
    from kafka_zk.tools.common.program import Shutdown

WAIT_S = 600
DESCRIPTION = """\
Restarts the brokers that run out of a folder, one after the other, while the cluster serves: as
FOLDER/broker-ID/server.properties says now, in the version that is installed now. Before the first, and after each, it
waits until that broker sees every replica of every partition in its ISR, itself included. The controller is the last.

On Ctrl-C it leaves no broker stopped: the one under way is started again first. A second Ctrl-C ends it at once."""
EPILOG = """\
examples:
  kafka-cluster-restart.sh                                  the brokers in ./kafka-cluster
  kafka-cluster-restart.sh --command-config admin.properties
                                                            where clients must log in, or speak TLS
  kafka-cluster-restart.sh --systemd --folder /var/lib/kafka-zk
                                                            brokers that systemd runs; as root
"""


def work(arguments: Sequence[str], shutdown: Shutdown) -> int:
    """Blocks. The exit code."""
    parser = parser_of("kafka-cluster-restart", DESCRIPTION, EPILOG)
    parser.add_argument("--command-config", metavar="FILE", help="a client's properties, to ask the brokers")
    parser.add_argument(
        "--systemd", action="store_true", help="restart the units kafka-zk@ID of systemd that are active, by systemctl"
    )
    add_timeout(parser, WAIT_S, "that a broker may take to stop, to start, and replicas to be in sync again")
    return run_tool(parser, arguments, shutdown, restart)


def restart(options: argparse.Namespace, interruption: Interruption) -> int:
    """Blocks. Raises Refused, OSError, Interrupted, and what asking a broker raises."""
    folder = ClusterFolder(options.folder)
    folder.check()
    asker = Asker(read_command_config(options.command_config))
    show_warnings()
    with folder.lock():
        if options.systemd:
            cycles = {each: partial(units.restart, each) for each in units.active(folder.broker_ids())}
        else:
            cycle = partial(_restart, folder, waits=interruption, timeout_s=options.timeout)
            cycles = {each: partial(cycle, each, running) for each, running in running_brokers(folder).items()}
        if not cycles:
            raise Refused(f"nothing is running in {folder.path}: kafka-cluster-up.sh starts it")
        Restarting(folder, asker, interruption, options.timeout).run(cycles)
    return 0


def _restart(folder: ClusterFolder, broker_id: int, running: Running, waits: Interruption, timeout_s: float) -> None:
    name = f"broker {broker_id}"
    say(f"Stop {name}")
    stop(name, running, waits, timeout_s)
    if not was_stopped_cleanly(folder, broker_id):
        say(f"{name} did not close its logs, and checks them now")
    say(f"Start {name}")
    wait_until_serving(folder, broker_id, start_broker(folder, broker_id), waits, timeout_s)


class Restarting:
    """One rolling restart."""

    def __init__(self, folder: ClusterFolder, asker: Asker, interruption: Interruption, timeout_s: float) -> None:
        self._folder = folder
        self._asker = asker
        self._interruption = interruption
        self._timeout_s = timeout_s

    def run(self, cycles: Mapping[int, Callable[[], None]]) -> None:
        """Blocks. Stop and start each broker by its cycle.

        Raises Refused at the first that does not come back as it should, and leaves the others.
        """
        first = min(cycles)
        self._wait_until_in_sync(first)
        left = restart_order(cycles, self._asker.controller(self._address(first)))
        try:
            while left:
                self._interruption.check()
                broker_id = left.pop(0)
                # What is stopped must be started, whatever signal comes.
                with self._interruption.held():
                    cycles[broker_id]()
                self._wait_until_in_sync(broker_id)
                say(f"broker {broker_id} is in sync")
        except Interrupted as error:
            not_restarted = ", ".join(f"broker {each}" for each in left)
            raise Interrupted(f"each broker runs; not restarted: {not_restarted or 'none'}") from error

    def _wait_until_in_sync(self, broker_id: int) -> None:
        address, reasons = self._address(broker_id), [""]

        def is_in_sync() -> bool:
            reason = self._asker.not_in_sync(broker_id, address)
            if reason is not None and not reasons[-1]:
                say(f"Wait: {reason}")
            reasons.append(reason or "")
            return reason is None

        if not self._interruption.wait_until(is_in_sync, self._timeout_s):
            raise Refused(f"after {self._timeout_s:g} s still {reasons[-1]}")

    def _address(self, broker_id: int) -> str:
        config = BrokerConfig.from_properties(read_file(self._folder.properties_of(broker_id)))
        return address_for(config, self._asker.protocol, port_of(self._folder, broker_id))
