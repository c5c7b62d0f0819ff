"""The doctor names in stopped directories what find-hanging names in the running cluster, and how to end it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafka_zk.tools.log_doctor.__main__ import main as doctor
from kafka_zk.tools.transactions.__main__ import main as transactions
from tests.interop.tools import transaction_states
from tests.interop.tools.runs import run_once
from tests.support.processes import wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

NAMED = re.compile(
    r"transaction-hanging: .*; end it with: kafka-transactions\.sh --bootstrap-server HOST:PORT (abort .*)"
)
Place = tuple[str, int, int]
"""Topic, partition, and the offset at which a transaction begins."""


def hanging_in(bootstrap: str) -> set[Place]:
    """What find-hanging shows of both brokers."""
    found = set()
    for broker_id in ("1", "2"):
        run = run_once(transactions, ["--bootstrap-server", bootstrap, "find-hanging", "--broker-id", broker_id])
        assert run.exit_code == 0, run
        rows = [[cell.strip() for cell in line.split("\t")] for line in run.stdout.splitlines()[1:]]
        found |= {(row[0], int(row[1]), int(row[5])) for row in rows}
    return found


@pytest.mark.parametrize("name", transaction_states.CASES[1:])
def test_the_doctor_names_what_hangs_and_the_command_that_ends_it(
    name: str, zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    kinds, chroot = transaction_states.CLUSTERS[name], fresh_chroot(zookeeper, "hanging")
    with transaction_states.cluster(kinds, chroot, tmp_path) as brokers:
        bootstrap = transaction_states.bootstrap_of(brokers)
        hanging = hanging_in(bootstrap)
        assert len(hanging) == 2 + 5 * len(transaction_states.HUNG_TOPICS)
        for broker in brokers.values():
            broker.stop()
        run = run_once(doctor, ["--verbose", *(str(broker.log_dir) for broker in brokers.values())])
        commands = [match[1].split() for match in NAMED.finditer(run.stdout)]
        assert {(words[2], int(words[4]), int(words[6])) for words in commands} == hanging, run
        assert run.stdout.count("transaction-open: ") == 4, "what its coordinator will end"

        for broker in brokers.values():
            broker.start()
        wait_until(lambda: hanging_in_if_served(bootstrap) == hanging, "the transactions hang again")
        for words in commands:
            ended = run_once(transactions, ["--bootstrap-server", bootstrap, *words])
            assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")
        assert hanging_in(bootstrap) == set()


def hanging_in_if_served(bootstrap: str) -> set[Place]:
    try:
        return hanging_in(bootstrap)
    except AssertionError:
        return set()
