"""The result of a job, and its error.

Role        Pure.
"""

from __future__ import annotations

from dataclasses import dataclass


class JobError(Exception):
    """One sentence that tells a person what is wrong."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The closing sentence. `found_wrong`: the job is an examination, and what it examined failed it."""

    text: str
    found_wrong: bool = False
