"""The controller beside everybody else."""

from __future__ import annotations

import math

import pytest

from kafka_zk.controller import fairness
from tests.support.looks_at_sockets import looks_at_sockets


def test_whoever_sends_a_request_has_a_turn_after_each_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fairness, "SLICE_S", -math.inf)
    partitions = fairness.in_turns([1, 2, 3])
    next(partitions)
    assert looks_at_sockets(lambda: next(partitions))
