"""What a comparison with Apache may leave out: each exception names the row of docs/compat.md that allows it.

Such a row says "left out of comparisons" in its last cell. Its name is the anchor of its first: `<a id="name"></a>`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

COMPAT = Path(__file__).resolve().parents[2] / "docs" / "compat.md"
_ROW = re.compile(r'^\| <a id="([a-z0-9-]+)"></a>.* \| left out of comparisons\b', re.MULTILINE)


class Allowed(NamedTuple):
    """An exception by the name of its row. One that occurs `by_chance` need not occur each time."""

    row: str
    by_chance: bool = False


def rows() -> list[str]:
    """The names of rows in docs/compat.md that a comparison may name, in its order."""
    return _ROW.findall(COMPAT.read_text())


_KNOWN = frozenset(rows())


def allowed(row: str, *, by_chance: bool = False) -> Allowed:
    """Raises LookupError if docs/compat.md has no such row."""
    if row not in _KNOWN:
        raise LookupError(f"docs/compat.md has no row called {row} that is left out of comparisons")
    return Allowed(row, by_chance)
