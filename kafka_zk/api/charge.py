"""Which quotas an API counts against, declared with its handler: `@api(..., charge=Charge.MUTATIONS)`."""

from __future__ import annotations

from enum import Enum, auto


class Charge(Enum):
    """Which client quotas a request counts against, besides request time."""

    TIME = auto()  # nothing more
    PRODUCED = auto()  # its bytes
    FETCHED = auto()  # the bytes of its answer: the handler counts all, before it answers
    MUTATIONS = auto()  # the partitions that it makes or deletes: the handler counts them
    EXEMPT = auto()  # nothing at all, not its time either: brokers ask each other
