"""The states of a transaction: which may follow which, and what each answers.

Role        Pure data.
Invariants  A state that the tables do not name as a predecessor is illegal, and raises.
Source      TransactionMetadata.scala and TransactionCoordinator.endTransaction in Kafka 3.9.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from kafka_zk.protocol.errors import ErrorCode


class TransactionState(IntEnum):
    """Values are those of the records; `word` is what clients see."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    """Expired: about to be removed. Never stored."""
    PREPARE_EPOCH_FENCE = 7
    """A newer producer is about to abort what an older one left open. Never stored."""

    @property
    def word(self) -> str:
        return "".join(part.capitalize() for part in self.name.split("_"))


_EMPTY, _ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
_PREPARE_COMMIT, _PREPARE_ABORT = TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT
_COMPLETE_COMMIT, _COMPLETE_ABORT = TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT

AT_REST: Final = frozenset((_EMPTY, _COMPLETE_COMMIT, _COMPLETE_ABORT))
"""No transaction is under way, and all markers are written."""

ENDING: Final = frozenset((_PREPARE_COMMIT, _PREPARE_ABORT))
"""Decided, and not all markers are written."""

PREDECESSORS: Final = {
    _EMPTY: AT_REST,
    _ONGOING: AT_REST | {_ONGOING},
    _PREPARE_COMMIT: frozenset((_ONGOING,)),
    _PREPARE_ABORT: frozenset((_ONGOING,)),
    _COMPLETE_COMMIT: frozenset((_PREPARE_COMMIT,)),
    _COMPLETE_ABORT: frozenset((_PREPARE_ABORT,)),
    TransactionState.DEAD: AT_REST,
    TransactionState.PREPARE_EPOCH_FENCE: frozenset((_ONGOING,)),
}

COMMIT: Final = True
ABORT: Final = False

ON_END: Final[dict[TransactionState, dict[bool, TransactionState | ErrorCode]]] = {
    _ONGOING: {COMMIT: _PREPARE_COMMIT, ABORT: _PREPARE_ABORT},
    _PREPARE_COMMIT: {COMMIT: ErrorCode.CONCURRENT_TRANSACTIONS, ABORT: ErrorCode.INVALID_TXN_STATE},
    _PREPARE_ABORT: {COMMIT: ErrorCode.INVALID_TXN_STATE, ABORT: ErrorCode.CONCURRENT_TRANSACTIONS},
    # Once more, as a client does that missed the answer.
    _COMPLETE_COMMIT: {COMMIT: ErrorCode.NONE, ABORT: ErrorCode.INVALID_TXN_STATE},
    _COMPLETE_ABORT: {COMMIT: ErrorCode.INVALID_TXN_STATE, ABORT: ErrorCode.NONE},
    _EMPTY: dict.fromkeys((COMMIT, ABORT), ErrorCode.INVALID_TXN_STATE),
}
"""What a request to commit or to abort leads to, by the state it meets: the next state, or an answer at once."""

END_OF: Final = {_PREPARE_COMMIT: _COMPLETE_COMMIT, _PREPARE_ABORT: _COMPLETE_ABORT}
"""What follows once all markers are written."""
