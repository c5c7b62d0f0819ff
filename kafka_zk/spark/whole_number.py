"""Parses an integer in an option or a setting.

Role        Pure.
"""

from __future__ import annotations


def whole_number(given: object) -> int | None:
    """None for what is no whole number; True and False are none."""
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        return None
    try:
        return int(given)
    except ValueError:
        return None
