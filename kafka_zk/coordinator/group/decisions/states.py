"""The group state machine: its states, events and transitions.

Role        Pure data.
Invariants  A transition missing in the table is illegal, and raises.
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


class GroupEvent(Enum):
    """An event that changes a group's state."""

    REBALANCE_NEEDED = "rebalance needed"
    ALL_JOINED = "all joined"
    ALL_LEFT = "all left"
    ASSIGNED = "assigned"
    REMOVED = "removed"
    """Expired, deleted by an operator, or led by another coordinator from now on."""


_EMPTY, _PREPARING, _COMPLETING = GroupState.EMPTY, GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
_STABLE, _DEAD = GroupState.STABLE, GroupState.DEAD

TRANSITIONS: dict[GroupState, dict[GroupEvent, GroupState]] = {
    _EMPTY: {GroupEvent.REBALANCE_NEEDED: _PREPARING, GroupEvent.REMOVED: _DEAD},
    _PREPARING: {GroupEvent.ALL_JOINED: _COMPLETING, GroupEvent.ALL_LEFT: _EMPTY, GroupEvent.REMOVED: _DEAD},
    _COMPLETING: {
        GroupEvent.ASSIGNED: _STABLE,
        GroupEvent.REBALANCE_NEEDED: _PREPARING,
        GroupEvent.REMOVED: _DEAD,
    },
    _STABLE: {GroupEvent.REBALANCE_NEEDED: _PREPARING, GroupEvent.REMOVED: _DEAD},
    _DEAD: {GroupEvent.REMOVED: _DEAD},
}


def next_state(state: GroupState, event: GroupEvent) -> GroupState:
    """The state that `event` leads to from `state`; an AssertionError for an invalid transition."""
    following = TRANSITIONS[state].get(event)
    assert following is not None, f"{event.value} is not an event of a group in state {state.value}"
    return following


def can_rebalance(state: GroupState) -> bool:
    """Whether a rebalance may begin: not while one is being prepared, not when the group is dead."""
    return GroupEvent.REBALANCE_NEEDED in TRANSITIONS[state]
