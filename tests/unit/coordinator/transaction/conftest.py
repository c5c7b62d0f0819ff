from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.coordinator.transaction.transaction_world import World, world


@pytest.fixture
def scene() -> Iterator[World]:
    with world() as made:
        yield made
