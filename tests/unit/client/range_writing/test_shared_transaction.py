"""Whether another producer has taken a transaction over, or the coordinator has aborted it by itself."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kafka_zk.client.admin.transaction_results import TransactionDescription, TransactionState
from kafka_zk.client.range_writing import shared_transaction
from kafka_zk.client.range_writing.arrivals import ProducerIdentity
from kafka_zk.client.range_writing.shared_transaction import SharedTransaction, has_begun_later

MINE = ProducerIdentity(7, 3)
State = TransactionState


def shown(state: TransactionState, epoch: int, producer_id: int = MINE.producer_id) -> TransactionDescription:
    """As the coordinator tells it."""
    return TransactionDescription(0, state, producer_id, epoch, 60_000, None, ())


ABORTED, BEGUN = shown(State.COMPLETE_ABORT, 4), shown(State.EMPTY, 5)


@pytest.mark.parametrize(
    ("found", "later"),
    [
        (shown(State.ONGOING, 3), False),
        (shown(State.PREPARE_ABORT, 4), False),
        (ABORTED, False),
        # Who begins where nothing is open raises the epoch once, too.
        (shown(State.EMPTY, 4), True),
        (shown(State.COMPLETE_COMMIT, 4), True),
        (BEGUN, True),
        (shown(State.COMPLETE_ABORT, 6), True),
        # The epochs were used up.
        (shown(State.EMPTY, 0, producer_id=8), True),
    ],
)
def test_what_an_abort_of_the_coordinator_explains_is_no_later_producer(
    found: TransactionDescription, later: bool
) -> None:
    assert has_begun_later(found, MINE, was_open=True) is later
    assert has_begun_later(found, MINE, was_open=False) is later


def test_an_open_transaction_in_the_next_epoch_is_the_own_one_or_that_of_another() -> None:
    """The coordinator raises the epoch before its abort is stored."""
    found = shown(State.ONGOING, 4)
    assert not has_begun_later(found, MINE, was_open=True)
    assert has_begun_later(found, MINE, was_open=False)


class Told(SharedTransaction):
    """Hears these answers of the coordinator, the last one again and again."""

    def __init__(self, answers: Sequence[TransactionDescription | None]) -> None:
        self._identity, self._was_open = MINE, True
        self.answers = list(answers)

    def _described(self) -> TransactionDescription | None:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.mark.parametrize("answers", [(BEGUN,), (ABORTED, ABORTED, BEGUN), (None, ABORTED, BEGUN)])
def test_who_just_begins_is_waited_for(
    answers: Sequence[TransactionDescription | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_transaction, "ASK_AGAIN_S", 0)
    assert Told(answers).is_taken_over()


@pytest.mark.parametrize("answer", [ABORTED, None])
def test_what_nobody_takes_over_is_not_waited_for_long(
    answer: TransactionDescription | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_transaction, "BEGINS_S", 0)
    assert not Told([answer]).is_taken_over()
