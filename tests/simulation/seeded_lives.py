"""Random lives, one a seed: what the tests of the replicas' and of the controllers' lives have in common."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


class LifeFailed(AssertionError):
    """What broke one life is its cause."""

    def __init__(self, seed: int) -> None:
        super().__init__(f"the life of seed {seed}")
        self.seed = seed


def seeds_to_live(request: pytest.FixtureRequest, first: int, count: int) -> Iterable[int]:
    """`count` seeds from `first` on, or the one that was asked for."""
    seed = request.config.getoption("--seed")
    return (seed,) if seed is not None else range(first, first + count)
