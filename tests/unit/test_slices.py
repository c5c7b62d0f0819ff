"""Loops that are no requests, beside everybody else."""

from __future__ import annotations

import math

import pytest

from kafka_zk import giving_way
from tests.support.looks_at_sockets import looks_at_sockets


def test_whoever_sends_a_request_has_a_turn_after_each_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(giving_way, "SLICE_S", -math.inf)
    partitions = giving_way.in_slices([1, 2, 3])
    next(partitions)
    assert looks_at_sockets(lambda: next(partitions))
