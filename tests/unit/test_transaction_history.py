"""The checker of histories: nothing is found in sound ones, and each anomaly that is planted into one of them is."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.support import transaction_history
from tests.support.transaction_history import (
    ABORTED_READ,
    BACKWARD_POLL,
    CYCLE,
    DUPLICATE,
    LOST_WRITE,
    NEVER_SENT,
    TWO_VALUES,
    Began,
    History,
    Outcome,
    Seen,
    Transaction,
    anomalies,
)

COMMITTED, ABORTED, UNKNOWN = Outcome.COMMITTED, Outcome.ABORTED, Outcome.UNKNOWN
PARTITIONS = 3


def kinds(history: History) -> set[str]:
    return {each.kind for each in anomalies(history)}


def sends(*seen: Seen, process: str = "w", outcome: Outcome = COMMITTED) -> Transaction:
    return Transaction(process, sent=seen, outcome=outcome)


def polls(*seen: Seen, process: str = "r") -> Transaction:
    return Transaction(process, polled=seen)


A, B, C = Seen(0, 0, "a"), Seen(0, 1, "b"), Seen(0, 2, "c")


def sound_history(chance: random.Random, count: int) -> list[Transaction | Began]:
    """A log that is what it should be: transactions one after the other, some aborted or of unknown outcome; markers
    take offsets; processes that poll while they send; and a reader that reads all in the end."""
    log: list[list[Seen]] = [[] for _ in range(PARTITIONS)]
    ends = [0] * PARTITIONS
    positions: dict[str, list[int]] = {}
    history: list[Transaction | Began] = []
    for number in range(count):
        process = f"p{chance.randrange(3)}"
        if chance.random() < 0.05:
            positions.pop(process, None)
            history.append(Began(process))
        position = positions.setdefault(process, [0] * PARTITIONS)
        polled = []
        for partition, read in enumerate(position):
            found = [seen for seen in log[partition] if (seen.offset or 0) >= read][: chance.randrange(4)]
            polled += found
            if found:
                position[partition] = (found[-1].offset or 0) + 1
        outcome = chance.choice((COMMITTED, COMMITTED, COMMITTED, ABORTED, UNKNOWN))
        is_kept = outcome is COMMITTED or (outcome is UNKNOWN and chance.random() < 0.5)
        sent = []
        for which in range(chance.randrange(4)):
            partition = chance.randrange(PARTITIONS)
            seen = Seen(partition, ends[partition], f"{number}.{which}")
            ends[partition] += 1
            sent.append(seen if chance.random() < 0.9 else seen._replace(offset=None))
            if is_kept:
                log[partition].append(seen)
        for partition in {seen.partition for seen in sent}:
            ends[partition] += 1  # The marker.
        history.append(Transaction(process, tuple(polled), tuple(sent), outcome))
    history += [Transaction("last", tuple(records)) for records in log]
    return history


def test_nothing_is_found_in_sound_histories(chance: random.Random) -> None:
    for _ in range(50):
        history = sound_history(chance, 60)
        assert anomalies(history) == []


def test_a_committed_value_that_all_readers_passed_is_lost() -> None:
    assert kinds([sends(A), sends(B), polls(B)]) == {LOST_WRITE}


def test_a_value_at_the_end_may_not_have_been_read_yet() -> None:
    assert kinds([sends(A), sends(B), polls(A)]) == set()


def test_an_aborted_value_need_not_be_read() -> None:
    assert kinds([sends(A, outcome=ABORTED), sends(B), polls(B)]) == set()


def test_of_a_transaction_of_unknown_outcome_all_values_are_there_or_none() -> None:
    assert kinds([sends(A, B, outcome=UNKNOWN), sends(C), polls(C)]) == set()
    assert kinds([sends(A, B, outcome=UNKNOWN), sends(C), polls(A, B, C)]) == set()
    assert kinds([sends(A, B, outcome=UNKNOWN), sends(C), polls(A, C)]) == {LOST_WRITE}


def test_a_committed_value_whose_offset_nobody_was_told_must_be_read_too() -> None:
    assert kinds([sends(A._replace(offset=None), B), polls(A, B)]) == set()
    assert kinds([sends(A._replace(offset=None), B), polls(B)]) == {LOST_WRITE}


def test_an_aborted_value_is_read() -> None:
    assert kinds([sends(A, outcome=ABORTED), polls(A)]) == {ABORTED_READ}


def test_two_values_are_at_one_offset() -> None:
    assert kinds([sends(A), sends(B._replace(offset=0)), polls(A)]) == {TWO_VALUES}


def test_a_value_is_there_twice() -> None:
    assert kinds([sends(A), polls(A, A._replace(offset=3))]) == {DUPLICATE}


def test_a_value_that_nobody_sent_is_read() -> None:
    assert kinds([polls(A)]) == {NEVER_SENT}


@pytest.mark.parametrize("again", [A, B], ids=["an earlier one", "the same one"])
def test_a_process_goes_back(again: Seen) -> None:
    history = [sends(A, B), polls(A, B), polls(again)]
    assert kinds(history) == {BACKWARD_POLL}
    assert kinds([*history[:-1], polls(again, process="another")]) == set()
    assert kinds([*history[:-1], Began("r"), history[-1]]) == set()
    assert kinds([*history[:-1], Began("another"), history[-1]]) == {BACKWARD_POLL}


def test_two_transactions_know_of_each_other() -> None:
    first, second = Transaction("x", (B,), (A,)), Transaction("y", (A,), (B,))
    assert kinds([first, second]) == {CYCLE}
    assert kinds([replace(first, polled=()), second]) == set()


def test_a_transaction_reads_what_it_writes_itself() -> None:
    assert kinds([Transaction("x", (A,), (A,))]) == {CYCLE}


def test_three_transactions_know_of_each_other_in_a_circle() -> None:
    circle = [Transaction("x", (C,), (A,)), Transaction("y", (A,), (B,)), Transaction("z", (B,), (C,))]
    (found,) = anomalies(circle)
    assert found.kind == CYCLE
    assert all(f"process='{name}'" in found.what for name in "xyz")


# --- anomalies planted into sound histories ---------------------------------------------------------------------------


def forget_a_value(history: list[Transaction | Began], chance: random.Random) -> None:
    """No reader is given a value that is not the last of its partition."""
    ends = [each for each in history if isinstance(each, Transaction) and each.process == "last"]
    committed = {
        seen.value
        for each in history
        if isinstance(each, Transaction) and each.outcome is COMMITTED
        for seen in each.sent
    }
    value = chance.choice([seen.value for each in ends for seen in each.polled[:-1] if seen.value in committed])
    for number, each in enumerate(history):
        if isinstance(each, Transaction):
            history[number] = replace(each, polled=tuple(seen for seen in each.polled if seen.value != value))


def show_an_aborted_value(history: list[Transaction | Began], chance: random.Random) -> None:
    aborted = [
        seen
        for each in history
        if isinstance(each, Transaction) and each.outcome is ABORTED
        for seen in each.sent
        if seen.offset is not None
    ]
    history.append(polls(chance.choice(aborted), process="planted"))


def read_twice(history: list[Transaction | Began], chance: random.Random) -> None:
    number = chance.choice([n for n, each in enumerate(history) if isinstance(each, Transaction) and each.polled])
    history.insert(number, replace(history[number], sent=(), outcome=COMMITTED))


def copy_a_value(history: list[Transaction | Began], chance: random.Random) -> None:
    last = chance.choice([each for each in history if isinstance(each, Transaction) and each.process == "last"])
    history.append(polls(last.polled[0]._replace(offset=10_000), process="planted"))


def overwrite_a_value(history: list[Transaction | Began], chance: random.Random) -> None:
    last = chance.choice([each for each in history if isinstance(each, Transaction) and each.process == "last"])
    history.append(sends(last.polled[0]._replace(value="planted"), outcome=ABORTED))


def read_the_future(history: list[Transaction | Began], chance: random.Random) -> None:
    """Two transactions that follow each other in one partition each poll what the other sends."""
    there = [
        number
        for number, each in enumerate(history)
        if isinstance(each, Transaction) and each.outcome is COMMITTED and any(s.offset is not None for s in each.sent)
    ]
    first, second = chance.sample(there, 2)
    for one, other in ((first, second), (second, first)):
        source = history[other]
        assert isinstance(source, Transaction)
        history[one] = replace(
            history[one],
            process=f"planted-{one}",
            polled=tuple(seen for seen in source.sent if seen.offset is not None)[:1],
        )


@pytest.mark.parametrize(
    ("plant", "kind"),
    [
        (forget_a_value, LOST_WRITE),
        (show_an_aborted_value, ABORTED_READ),
        (read_twice, BACKWARD_POLL),
        (copy_a_value, DUPLICATE),
        (overwrite_a_value, TWO_VALUES),
        (read_the_future, CYCLE),
    ],
)
def test_what_is_planted_into_sound_histories_is_found(plant: object, kind: str, chance: random.Random) -> None:
    for _ in range(20):
        history = sound_history(chance, 60)
        plant(history, chance)  # type: ignore[operator]
        assert kind in kinds(history)


def test_each_kind_has_a_test() -> None:
    named = {value for name, value in vars(transaction_history).items() if name.isupper() and isinstance(value, str)}
    assert named == {LOST_WRITE, ABORTED_READ, TWO_VALUES, BACKWARD_POLL, DUPLICATE, CYCLE, NEVER_SENT}
