"""Which quotas an API counts against, declared with its handler: `@api(..., charge=Charge.MUTATIONS)`."""

from __future__ import annotations

from enum import Enum, auto


class Charge(Enum):
    """Which client quotas a request counts against, besides request time."""

    TIME = auto()  # nothing more
    PRODUCED = auto()  # its bytes
    FETCHED = auto()  # the bytes of its answer: the handler counts everything before it answers
    MUTATIONS = auto()  # the partitions that it creates or deletes: the handler counts them
    EXEMPT = auto()  # nothing, not even its time: requests between brokers
