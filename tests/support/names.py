"""Names that carry the try they belong to.

A test that is tried once more meets the topics, groups, users and transactional ids of its first try where the cluster
outlives it. With names of its own each try starts clean.
"""

from __future__ import annotations

import itertools

_numbers = itertools.count(1)


def fresh(name: str) -> str:
    """`name` and a number that no other name of this process has: what two sides compare is named once, for both."""
    return f"{name}-{next(_numbers)}"
