"""Faults in the tools that run several brokers on a machine."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

PLAN = "tests/unit/tools/local_cluster/test_plan.py -k "
REPLICAS = "tests/unit/tools/local_cluster/test_replicas.py -k "
HOST = "tests/integration/test_local_cluster.py -k "

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="replicas of a partition are on different hosts: each broker's rack is its host",
        file="kafka_zk/tools/common/local_cluster/plan.py",
        old='common.setdefault("broker.rack", host)',
        new='common.setdefault("broker.rack", "")',
        tests=PLAN + "rack",
    ),
    Mutant(
        breaks="two brokers of a machine never share a port",
        file="kafka_zk/tools/common/local_cluster/plan.py",
        old="    _refuse_shared_ports(plans)\n    return plans\n",
        new="    return plans\n",
        tests=PLAN + "share_nothing",
    ),
    Mutant(
        breaks="a start of several brokers that fails leaves none that it started",
        file="kafka_zk/tools/cluster_up/command.py",
        old="            self._stop()\n            if isinstance",
        new="            if isinstance",
        tests=HOST + "nothing_new_runs_on",
    ),
    Mutant(
        breaks="a rolling restart goes on only when each replica is in the ISR",
        file="kafka_zk/tools/cluster_restart/replicas.py",
        old="if not {*each.replicas} <= {*each.isr}",
        new="if not {*each.replicas} & {*each.isr}",
        tests=REPLICAS + "lags",
    ),
    Mutant(
        breaks="a rolling restart that is interrupted starts the broker that it has stopped",
        file="kafka_zk/tools/cluster_restart/command.py",
        old="                with self._interruption.held():\n",
        new="                if True:\n",
        tests=HOST + "leaves_no_broker_stopped",
    ),
)
