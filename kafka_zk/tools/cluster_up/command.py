"""The work of kafka-cluster-up.sh."""

from __future__ import annotations

import argparse
import os
import socket
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_zk.config.properties import read_file
from kafka_zk.tools.cluster_up.addresses import one_accepts, problem_of, zookeepers_of
from kafka_zk.tools.cluster_up.options import common_properties, parser
from kafka_zk.tools.common.background import PYTHON_OPTIONS, detach
from kafka_zk.tools.common.failures import Refused
from kafka_zk.tools.common.local_cluster.arguments import run_tool, say
from kafka_zk.tools.common.local_cluster.folder import ClusterFolder, read_if_there, write_properties
from kafka_zk.tools.common.local_cluster.interruption import Interrupted, Interruption
from kafka_zk.tools.common.local_cluster.plan import BrokerPlan, differing, first_id, plan_brokers
from kafka_zk.tools.common.local_cluster.servers import (
    Child,
    Running,
    running_brokers,
    running_zookeeper,
    start_broker,
    stop,
    wait_for_earlier_start,
    wait_until_serving,
)

if TYPE_CHECKING:
    from kafka_zk.tools.common.program import Shutdown

ZOOKEEPER_MODULE = "kafka_zk.tools.zookeeper_server_start"
ZOOKEEPER_S = 60
STOP_S = 120


def work(arguments: Sequence[str], shutdown: Shutdown) -> int:
    """Blocks. The exit code."""
    return run_tool(parser(), arguments, shutdown, up)


def up(options: argparse.Namespace, interruption: Interruption) -> int:
    """Blocks. Raises Refused, PlanError, ConfigException, OSError, Interrupted."""
    folder = ClusterFolder(options.folder)
    known = read_file(options.config) if options.config else read_if_there(folder.common_properties)
    properties = common_properties(options, known, Path.cwd())
    runs_zookeeper = options.with_zookeeper or _is_own_zookeeper(folder, properties["zookeeper.connect"])
    plans = plan_brokers(
        properties,
        options.count,
        folder=folder.path,
        host=socket.gethostname(),
        is_whole_cluster=runs_zookeeper,
    )
    folder.make()
    with folder.lock():
        _refuse_other_ids(folder, first_id(properties))
        running = running_brokers(folder)
        missing = [plan for plan in plans if plan.broker_id not in running]
        if not options.no_start:
            _refuse_taken_ports(missing)
        changed = _write(folder, properties, plans)
        if options.no_start:
            say(f"Wrote {folder.path}/broker-*/server.properties; nothing was started")
            return 0
        starting = Starting(folder, interruption, options.timeout)
        earlier = {plan.broker_id: running[plan.broker_id] for plan in plans if plan not in missing}
        starting.bring_up(properties["zookeeper.connect"], missing, earlier, runs_zookeeper=runs_zookeeper)
        _tell(folder, plans, missing, {each: changed[each] for each in running if each in changed})
    return 0


class Starting:
    """What this run has started: all of it serves at the end, or none of it runs on."""

    def __init__(self, folder: ClusterFolder, interruption: Interruption, timeout_s: float) -> None:
        self._folder = folder
        self._interruption = interruption
        self._timeout_s = timeout_s
        self._started: list[Child] = []

    def bring_up(
        self, zookeeper: str, plans: Sequence[BrokerPlan], earlier: Mapping[int, Running], *, runs_zookeeper: bool
    ) -> None:
        """Blocks until the planned brokers serve, and those that run from `earlier` on.

        Raises Refused, OSError, Interrupted once everything it started has been stopped.
        """
        try:
            self._provide_zookeeper(zookeeper, runs_zookeeper=runs_zookeeper)
            self._start_brokers(plans)
            for broker_id, running in earlier.items():
                wait_for_earlier_start(self._folder, broker_id, running, self._interruption, self._timeout_s)
        except BaseException as error:
            self._stop()
            if isinstance(error, Interrupted):
                raise Interrupted("nothing that it started is running") from error
            raise

    def _provide_zookeeper(self, connect: str, *, runs_zookeeper: bool) -> None:
        servers = zookeepers_of(connect)
        if runs_zookeeper and running_zookeeper(self._folder) is None:
            if len(servers) != 1:
                raise Refused(f"--with-zookeeper starts one ZooKeeper, but zookeeper.connect is {connect}")
            self._start_zookeeper(*servers[0])
        elif not one_accepts(servers):
            raise Refused(
                f"no ZooKeeper accepts connections at {connect}: start it, name another with --zookeeper, or let "
                "--with-zookeeper start one"
            )

    def _start_zookeeper(self, host: str, port: int) -> None:
        file = self._folder.zookeeper_properties
        if (problem := problem_of(host, port)) is not None:
            raise Refused(f"port {port} of ZooKeeper {problem}: choose another with --zookeeper {host}:PORT")
        say(f"Start ZooKeeper on {host}:{port}")
        write_properties(
            file,
            {
                "dataDir": str(file.with_name("data")),
                "clientPort": str(port),
                "clientPortAddress": host,
                "maxClientCnxns": "0",
                "admin.enableServer": "false",
            },
        )
        logs = file.with_name("logs")
        output = logs / "zookeeper.out"
        command = [sys.executable, *PYTHON_OPTIONS, "-m", ZOOKEEPER_MODULE, str(file)]
        child = Child("ZooKeeper", detach(command, output, {**os.environ, "LOG_DIR": str(logs)}), output)
        self._started.append(child)

        def accepts() -> bool:
            child.check()
            return one_accepts([(host, port)])

        if not self._interruption.wait_until(accepts, ZOOKEEPER_S):
            raise Refused(f"ZooKeeper does not accept connections after {ZOOKEEPER_S} s: see {output}")

    def _start_brokers(self, plans: Iterable[BrokerPlan]) -> None:
        """All at once: after a crash each may have much to check."""
        children = []
        for plan in plans:
            self._interruption.check()
            say(f"Start {plan.name} on {_ports(plan)}")
            child = start_broker(self._folder, plan.broker_id)
            self._started.append(child)
            children.append((plan.broker_id, child))
        deadline_s = time.monotonic() + self._timeout_s
        for broker_id, child in children:
            left_s = max(0.0, deadline_s - time.monotonic())
            wait_until_serving(self._folder, broker_id, child, self._interruption, left_s)
        for _, child in children:
            # One that started first may have ended since.
            child.check()

    def _stop(self) -> None:
        with self._interruption.held():
            for child in reversed(self._started):
                if child.running.is_alive:
                    say(f"Stop {child.name}")
                    stop(child.name, child.running, self._interruption, STOP_S)


def _is_own_zookeeper(folder: ClusterFolder, connect: str) -> bool:
    """Whether an earlier run has started a ZooKeeper at this address."""
    known = read_if_there(folder.zookeeper_properties)
    return [f"{known.get('clientPortAddress')}:{known.get('clientPort')}"] == [
        f"{host}:{port}" for host, port in zookeepers_of(connect)
    ]


def _refuse_other_ids(folder: ClusterFolder, first: int) -> None:
    ids = folder.broker_ids()
    if ids and ids[0] != first:
        raise Refused(
            f"the brokers of {folder.path} have ids from {ids[0]} on, not from {first}: give --first-id {ids[0]}, or "
            "another --folder"
        )


def _refuse_taken_ports(plans: Iterable[BrokerPlan]) -> None:
    for plan in plans:
        for host, port in plan.listens:
            if (problem := problem_of(host, port)) is not None:
                raise Refused(f"port {port} of {plan.name} {problem}")


def _write(folder: ClusterFolder, common: Mapping[str, str], plans: Iterable[BrokerPlan]) -> dict[int, list[str]]:
    """Write the properties. The keys that changed, by broker; brokers without a change are missing."""
    write_properties(folder.common_properties, common)
    changed = {}
    for plan in plans:
        file = folder.properties_of(plan.broker_id)
        before = read_if_there(file)
        if keys := differing(before, plan.properties):
            changed[plan.broker_id] = keys
            write_properties(file, plan.properties)
    return changed


def _tell(
    folder: ClusterFolder,
    plans: Sequence[BrokerPlan],
    started: Sequence[BrokerPlan],
    changed: Mapping[int, Sequence[str]],
) -> None:
    for plan in plans:
        how = f"serves on {_ports(plan)}" if plan in started else "was running already"
        say(f"{plan.name} {how}: {plan.folder}")
    for broker_id, keys in changed.items():
        say(f"broker {broker_id} takes the change of {', '.join(keys)} at its next start: kafka-cluster-restart.sh")
    say(f"Stop them with: kafka-cluster-down.sh --folder {folder.path}")


def _ports(plan: BrokerPlan) -> str:
    ports = [str(port) for _, port in plan.listens]
    return f"port {ports[0]}" if len(ports) == 1 else f"ports {', '.join(ports)}"
