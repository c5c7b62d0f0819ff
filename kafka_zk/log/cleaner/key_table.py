"""KeyTable: the offset map of one cleaning, a file in memory that the helper process maps.

Role        Acts. The broker only owns the file; `record.filtering` knows its content.
Invariants  It lives as long as its cleaning, also when the helper process dies meanwhile. No more memory is used than
            the records could need, whatever the configuration allows.
Source      Kafka 3.9 SkimpyOffsetMap.
"""

from __future__ import annotations

import os

from kafka_zk.log.helper.wire import Descriptor
from kafka_zk.record.filtering import SLOT_BYTES

LEAST_SLOTS = 64


class KeyTable:
    """`limit`: the maximum number of keys; `slots`: the configured size that this is a share of."""

    def __init__(self, *, slots: int, limit: int, record_count: int) -> None:
        """For at most `record_count` records."""
        self.slots = slots
        made = max(LEAST_SLOTS, min(slots, 2 * record_count))
        self.limit = min(limit, made - 1)
        self.size_bytes = made * SLOT_BYTES
        self.seed = os.urandom(16)
        self._fileno = os.memfd_create("log-cleaner")
        os.ftruncate(self._fileno, self.size_bytes)

    @property
    def descriptor(self) -> Descriptor:
        return Descriptor(self._fileno)

    def close(self) -> None:
        os.close(self._fileno)
