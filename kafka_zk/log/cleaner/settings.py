"""The cleaner's settings, taken from the broker's configuration.

Role        Pure.
Source      Kafka 3.9 CleanerConfig, LogCleaner.CleanerThread.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.record.filtering import SLOT_BYTES

LARGEST_TABLE_BYTES = (1 << 31) - 1


class CleanerSettings(NamedTuple):
    """Buffer sizes are per thread."""

    thread_count: int
    table_slots: int
    table_keys: int
    buffer_bytes: int
    bytes_per_second: float
    backoff_ms: int

    @classmethod
    def of(cls, config: BrokerConfig) -> CleanerSettings:
        threads = max(1, config.log_cleaner_threads)
        slots = min(config.log_cleaner_dedupe_buffer_size // threads, LARGEST_TABLE_BYTES) // SLOT_BYTES
        return cls(
            thread_count=config.log_cleaner_threads,
            table_slots=slots,
            table_keys=int(slots * config.log_cleaner_io_buffer_load_factor),
            buffer_bytes=max(1, config.log_cleaner_io_buffer_size // threads // 2),
            bytes_per_second=config.log_cleaner_io_max_bytes_per_second,
            backoff_ms=config.log_cleaner_backoff_ms,
        )
