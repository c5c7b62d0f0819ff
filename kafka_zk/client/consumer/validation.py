"""Detects log truncation below a position, from its leader's epochs.

Role        Pure.
Source      SubscriptionState.maybeCompleteValidation; KIP-320.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from kafka_zk.client.consumer.subscription_state import FetchPosition

UNKNOWN: Final = -1


class EpochEnd(NamedTuple):
    """The largest epoch not above the requested one, and its end; both -1 if the leader knows none."""

    leader_epoch: int
    end_offset: int


class Verdict(Enum):
    """The result of a validation."""

    VALID = "valid"
    DIVERGED = "diverged"  # the log goes another way from a known offset on
    LOST = "lost"  # the leader knows nothing of the epoch


def judge(position: FetchPosition, end: EpochEnd) -> Verdict:
    """`end` is the leader's answer for the epoch of the record before `position`."""
    if UNKNOWN in (end.end_offset, end.leader_epoch):
        return Verdict.LOST
    return Verdict.DIVERGED if end.end_offset < position.offset else Verdict.VALID
