"""A life is the same each time."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from kafka_zk import giving_way


@pytest.fixture(scope="module", autouse=True)
def no_turns_by_time() -> Iterator[None]:
    """How fast the machine is decides nothing here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(giving_way, "SLICE_S", math.inf)
        yield
