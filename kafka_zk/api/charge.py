"""Which quotas an API counts against, declared with its handler: `@api(..., charge=Charge.MUTATIONS)`."""

from __future__ import annotations

from enum import Enum, auto


class Charge(Enum):
    """What a request counts against the quotas of its client, besides the time that it takes."""

    TIME = auto()  # nothing more
    PRODUCED = auto()  # its bytes
    FETCHED = auto()  # the bytes of its answer: the handler counts all, before it answers
    MUTATIONS = auto()  # the partitions that it makes or deletes: the handler counts them
    EXEMPT = auto()  # nothing at all, not its time either: brokers ask each other
