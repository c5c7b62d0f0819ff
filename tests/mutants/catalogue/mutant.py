"""One row of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One planted fault: in `file`, the only occurrence of `old` becomes `new`; `tests` must then fail."""

    breaks: str
    file: str
    old: str
    new: str
    tests: str
