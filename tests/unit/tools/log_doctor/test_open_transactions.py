"""Which open transactions the doctor says hang, and what ends them: on a directory that Apache wrote, and by rule."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kafka_zk.coordinator.placement import partition_for
from kafka_zk.coordinator.transaction.decisions.states import TransactionState
from kafka_zk.coordinator.transaction.decisions.transaction import Transaction
from kafka_zk.log.doctor.checks.producers import OpenTransaction
from kafka_zk.log.files.names import LOG
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.log_doctor.open_transactions import (
    LONGEST_TIMEOUT_MS,
    Coordinators,
    known_coordinators,
    verdict_on,
)
from tests.unit.log.doctor.given import as_document, examined
from tests.unit.log.given import GOLDEN, unpack

ID = "golden-tx-open"
"""Its transaction was open in golden-tx-open-0, from offset 1, when the broker stopped."""

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
NOW = 1_700_000_000_000


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    return unpack("18-whole-log-dir/data.tar.gz", tmp_path) / "data"


def told(log_dir: Path, capsys: pytest.CaptureFixture[str], *more: Path) -> list[tuple[str, str, str, str]]:
    """(kind, partition, what, start) of each finding about an open transaction."""
    _, document = as_document(capsys, log_dir, *more)
    return [
        (each["kind"], each["partition"], each["what"], each["start"])
        for each in document["findings"]
        if each["kind"].startswith("transaction-")
    ]


OPEN = "the transaction of producer 2 (epoch 0) from offset 1 is open; "
SERVED = "gives read_committed consumers nothing from offset 1 on until it ends"
COMMAND = (
    "; end it with: kafka-transactions.sh --bootstrap-server HOST:PORT abort "
    "--topic golden-tx-open --partition 0 --start-offset 1"
)


def test_a_transaction_that_its_coordinator_will_end_does_not_hang(
    log_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reason = f"transactional id {ID} is in state Ongoing: its coordinator will end it"
    assert told(log_dir, capsys) == [("transaction-open", "golden-tx-open-0", OPEN + reason, SERVED)]


def test_a_transaction_that_no_coordinator_knows_hangs_and_is_ended_by_one_command(
    log_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coordinator = log_dir / f"__transaction_state-{partition_for(ID, 3)}"
    for segment in coordinator.glob(f"*{LOG}"):
        segment.write_bytes(b"")
    reason = "no partition of __transaction_state here (3) knows the producer"
    assert told(log_dir, capsys) == [("transaction-hanging", "golden-tx-open-0", OPEN + reason, SERVED + COMMAND)]


def test_a_transaction_coordinated_elsewhere_hangs_if_it_is_older_than_any_timeout(
    log_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(log_dir / f"__transaction_state-{partition_for(ID, 3)}")
    ((kind, _, what, _),) = told(log_dir, capsys)
    # Its records are of 2023, those of the coordinators of the day on which the directory was made.
    assert kind == "transaction-hanging"
    assert "(2) knows the producer, which had been silent for " in what


def test_a_directory_without_coordinators_shows_what_is_open(capsys: pytest.CaptureFixture[str]) -> None:
    ((_, partition, what, _),) = told(GOLDEN / "09-transactions", capsys)
    assert partition == "golden-tx-open-0"
    assert what.startswith(f"{OPEN}no partition of __transaction_state here (0) knows the producer")


def test_groups_whose_transactions_all_ended_show_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(GOLDEN / "16-consumer-offsets", capsys) == []


def test_of_several_replicas_of_a_coordinators_partition_the_longest_counts(
    log_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    behind = tmp_path / "behind"
    number = partition_for(ID, 3)
    replica = behind / f"__transaction_state-{number}"
    shutil.copytree(log_dir / replica.name, replica)
    (replica / f"{0:020}{LOG}").write_bytes(b"")
    for order in ((behind, log_dir), (log_dir, behind)):
        ((kind, *_),) = told(order[0], capsys, order[1])
        assert kind == "transaction-open"


@pytest.mark.parametrize("gone", range(3))
def test_that_partitions_of_coordinators_are_elsewhere_shows_in_their_numbers_or_ids(log_dir: Path, gone: int) -> None:
    assert known_coordinators(examined(log_dir).reports).is_complete
    shutil.rmtree(log_dir / f"__transaction_state-{gone}")
    found = known_coordinators(examined(log_dir).reports)
    assert (found.partition_count, found.is_complete) == (2, False)


# --- the rule --------------------------------------------------------------------------------------------------------


def opened(*, epoch: int = 3, last_timestamp_ms: int = NOW) -> OpenTransaction:
    return OpenTransaction(7, epoch, 5, last_timestamp_ms)


def coordinated(*partitions: TopicPartition, epoch: int = 3, state: TransactionState = TransactionState.ONGOING):
    transaction = Transaction("a", 7, 60_000, NOW)
    transaction.producer_epoch, transaction.state, transaction.partitions = epoch, state, frozenset(partitions)
    return Coordinators(3, True, {7: [transaction]})


@pytest.mark.parametrize("state", [TransactionState.ONGOING, TransactionState.PREPARE_COMMIT])
@pytest.mark.parametrize("epoch", [3, 4])
def test_what_waits_for_a_marker_does_not_hang_however_old_it_is(state: TransactionState, epoch: int) -> None:
    verdict = verdict_on(opened(last_timestamp_ms=0), T0, coordinated(T0, T1, epoch=epoch, state=state), NOW)
    assert not verdict.hangs


@pytest.mark.parametrize(
    ("coordinators", "rule"),
    [
        (coordinated(T1), "it waits for a marker elsewhere"),
        (coordinated(state=TransactionState.COMPLETE_COMMIT), "it ended"),
        (coordinated(T0, epoch=2), "its marker would be older than the producer here"),
        (Coordinators(3, True), "nobody knows the producer"),
    ],
)
def test_what_waits_for_no_marker_here_hangs_however_young_it_is(coordinators: Coordinators, rule: str) -> None:
    assert verdict_on(opened(), T0, coordinators, NOW).hangs, rule


@pytest.mark.parametrize(
    ("idle_ms", "hangs"), [(0, False), (LONGEST_TIMEOUT_MS, False), (LONGEST_TIMEOUT_MS + 1, True)]
)
def test_what_may_be_known_elsewhere_hangs_once_it_is_older_than_any_timeout(idle_ms: int, hangs: bool) -> None:
    coordinators = Coordinators(2, is_complete=False)
    assert verdict_on(opened(last_timestamp_ms=NOW - idle_ms), T0, coordinators, NOW).hangs is hangs
