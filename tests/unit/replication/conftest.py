from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .broker import Broker


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """One broker, not leading anything yet."""
    made = Broker(tmp_path)
    yield made
    made.close()
