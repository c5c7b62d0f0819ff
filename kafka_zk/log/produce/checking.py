"""Where a produced batch is decompressed: on the loop, in a thread, or in the one thread for very large batches.

Role        Acts, through the pools. How large a batch becomes shows only when it is decompressed: eight kilobytes may
            hold a quarter of a gigabyte.
Invariants  The loop never decompresses more than INLINE_BYTES. At one time no more is decompressed than
            APPEND_THREADS times POOLED_LIMIT_BYTES and once the limit of the package `record`; what has to be
            compressed again takes up to five times its plain size meanwhile.
Source      Ours; Kafka streams.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from kafka_zk.log.pools import LogPools
from kafka_zk.protocol.types import Buffer
from kafka_zk.record.compression import TooMuchToDecompress
from kafka_zk.record.produced import Origin, ValidatedBatch, ValidationRules
from kafka_zk.record.validation import validate

CHECK_POOLED_BYTES: Final = 32 * 1024
"""From here on a thread decompresses: the hand-off (20 to 43 us) is small against what the loop gains."""

INLINE_BYTES = 1024 * 1024
"""Decompressing and walking as much takes about a millisecond."""

POOLED_LIMIT_BYTES = 16 * 1024 * 1024
"""More would block a thread for other batches for tens of milliseconds."""


@dataclass(frozen=True, slots=True)
class LimitedRules:
    """The rules of a partition, under the three limits."""

    inline: ValidationRules
    pooled: ValidationRules
    alone: ValidationRules

    @classmethod
    def of(cls, rules: ValidationRules) -> LimitedRules:
        return cls(
            replace(rules, decompressed_limit_bytes=INLINE_BYTES),
            replace(rules, decompressed_limit_bytes=POOLED_LIMIT_BYTES),
            rules,
        )


def validate_in_thread(
    pools: LogPools, records: Buffer, rules: LimitedRules, now_ms: int, origin: Origin
) -> ValidatedBatch:
    """Blocks. `record.validation.validate` in a thread; raises what it raises."""
    try:
        return pools.run_to_end(pools.append, validate, records, rules.pooled, now_ms, origin)
    except TooMuchToDecompress:
        return pools.run_to_end(pools.large, validate, records, rules.alone, now_ms, origin)
