"""The states of a transactional producer, and which may follow which.

Role        Pure.
Source      Kafka 3.9 TransactionManager.State.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class State(Enum):
    """By Java's names, which its exceptions show."""

    UNINITIALIZED = "no producer id yet"
    INITIALIZING = "InitProducerId is under way"
    READY = "no transaction is open"
    IN_TRANSACTION = "records may be sent"
    COMMITTING_TRANSACTION = "no record may be sent; EndTxn follows the last batch"
    ABORTING_TRANSACTION = "batches that were never sent fail; EndTxn follows those that were"
    ABORTABLE_ERROR = "the transaction can only be aborted"
    FATAL_ERROR = "the producer can only be closed"


TRANSITIONS: Final[dict[State, frozenset[State]]] = {
    State.UNINITIALIZED: frozenset({State.INITIALIZING}),
    State.INITIALIZING: frozenset({State.READY, State.UNINITIALIZED, State.ABORTABLE_ERROR}),
    State.READY: frozenset({State.IN_TRANSACTION}),
    State.IN_TRANSACTION: frozenset({State.COMMITTING_TRANSACTION, State.ABORTING_TRANSACTION, State.ABORTABLE_ERROR}),
    State.COMMITTING_TRANSACTION: frozenset({State.READY, State.ABORTABLE_ERROR}),
    State.ABORTING_TRANSACTION: frozenset({State.READY, State.INITIALIZING}),
    State.ABORTABLE_ERROR: frozenset({State.ABORTING_TRANSACTION, State.ABORTABLE_ERROR}),
    State.FATAL_ERROR: frozenset(),
}
"""From each state to the next ones. FATAL_ERROR may follow any, itself included."""

WITH_OPEN_TRANSACTION: Final = frozenset(
    {State.IN_TRANSACTION, State.COMMITTING_TRANSACTION, State.ABORTING_TRANSACTION, State.ABORTABLE_ERROR}
)
COMPLETING: Final = frozenset({State.COMMITTING_TRANSACTION, State.ABORTING_TRANSACTION})
IN_ERROR: Final = frozenset({State.ABORTABLE_ERROR, State.FATAL_ERROR})


def may_follow(source: State, target: State) -> bool:
    return target is State.FATAL_ERROR or target in TRANSITIONS[source]
