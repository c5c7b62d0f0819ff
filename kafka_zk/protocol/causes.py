"""Stores an error's cause, which mypyc 2.4.1 drops from `raise ... from`."""

from __future__ import annotations

from typing import TypeVar

Failure = TypeVar("Failure", bound=BaseException)


def caused_by(error: Failure, cause: BaseException) -> Failure:
    """`error` with its cause, to be raised `from` it all the same."""
    error.__cause__ = cause
    return error
