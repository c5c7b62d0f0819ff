"""The group state machine: its states, events and transitions.

Role        Pure data.
Invariants  What is not in the table is an illegal move, and raises.
Source      GroupState in Kafka 3.9 GroupMetadata.scala.
"""

from __future__ import annotations

from enum import Enum


class GroupState(Enum):
    """Values are the words that clients see."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class Happening(Enum):
    """What moves a group on."""

    REBALANCE_NEEDED = "rebalance needed"
    ALL_JOINED = "all joined"
    ALL_LEFT = "all left"
    ASSIGNED = "assigned"
    REMOVED = "removed"
    """Expired, deleted by an operator, or led by another coordinator from now on."""


_EMPTY, _PREPARING, _COMPLETING = GroupState.EMPTY, GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
_STABLE, _DEAD = GroupState.STABLE, GroupState.DEAD

TRANSITIONS: dict[GroupState, dict[Happening, GroupState]] = {
    _EMPTY: {Happening.REBALANCE_NEEDED: _PREPARING, Happening.REMOVED: _DEAD},
    _PREPARING: {Happening.ALL_JOINED: _COMPLETING, Happening.ALL_LEFT: _EMPTY, Happening.REMOVED: _DEAD},
    _COMPLETING: {
        Happening.ASSIGNED: _STABLE,
        Happening.REBALANCE_NEEDED: _PREPARING,
        Happening.REMOVED: _DEAD,
    },
    _STABLE: {Happening.REBALANCE_NEEDED: _PREPARING, Happening.REMOVED: _DEAD},
    _DEAD: {Happening.REMOVED: _DEAD},
}


def next_state(state: GroupState, happening: Happening) -> GroupState:
    """Where `happening` leads from `state`; an AssertionError where it cannot happen."""
    following = TRANSITIONS[state].get(happening)
    assert following is not None, f"{happening.value} cannot happen to a group that is {state.value}"
    return following


def can_rebalance(state: GroupState) -> bool:
    """Whether a rebalance may begin: not while one is being prepared, not when the group is dead."""
    return Happening.REBALANCE_NEEDED in TRANSITIONS[state]
