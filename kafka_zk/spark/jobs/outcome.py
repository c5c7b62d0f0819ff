"""The result of a job, and its error.

Role        Pure.
"""

from __future__ import annotations

from dataclasses import dataclass


class JobError(Exception):
    """The failure of a job, in one sentence for the user."""


class AnotherRunError(JobError):
    """A later run of the same job has fenced this one."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The final message of a job. `found_wrong`: an audit found problems."""

    text: str
    found_wrong: bool = False
