"""Closes all logs of a directory: flushes everything, then closes every file.

Role        Acts. Few logs are flushed one by one, many are written out first and then synced by one call.
Invariants  A recovery point moves to the log end only after a sync.
Source      LogManager.shutdown.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_zk.giving_way import in_rounds
from kafka_zk.log.directory.data_dir import DataDir
from kafka_zk.log.pools import LogPools
from kafka_zk.log.unified_log import UnifiedLog

MANY_LOGS = 50
"""From here on one sync of the file system is quicker than at least five a log."""

LOGS_PER_ROUND = 16


def close_all(logs: Sequence[UnifiedLog], data_dir: DataDir, pools: LogPools) -> None:
    """Blocks. Complete, sync and close `logs`, all of one directory. Raises KafkaStorageError."""
    unflushed = [each for each in logs if each.log_end_offset > each.recovery_point]
    if len(unflushed) < MANY_LOGS or not data_dir.can_sync_at_once():
        pools.for_each(logs, UnifiedLog.close)
        return
    for each in in_rounds(logs, LOGS_PER_ROUND):
        each.close_unsynced()
    data_dir.sync_at_once()
    for each in unflushed:
        each.synced_at_close()
