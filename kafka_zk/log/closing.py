"""Closes all logs of a directory: flushes everything, then closes every file.

Role        Acts. Few logs are flushed one by one, many are written out first and then synced by one call.
Invariants  A recovery point moves to the log end only after a sync.
            A log that cannot be completed (a damaged batch) does not affect the others.
Source      LogManager.shutdown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafka_zk.giving_way import in_rounds
from kafka_zk.log.directory.data_dir import DataDir
from kafka_zk.log.pools import LogPools
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.supervision import caught

MANY_LOGS = 50
"""From here on one sync of the file system is quicker than at least five a log."""

LOGS_PER_ROUND = 16


def close_all(logs: Sequence[UnifiedLog], data_dir: DataDir, pools: LogPools) -> bool:
    """Blocks. Complete, sync and close `logs`, all of one directory; whether it was possible for each.

    Raises KafkaStorageError.
    """
    incomplete: set[UnifiedLog] = set()

    def close(each: UnifiedLog, how: Callable[[UnifiedLog], None]) -> None:
        try:
            how(each)
        except KafkaStorageError:
            raise
        except Exception:
            caught("LogManager", f"while closing {each.topic_partition}")
            incomplete.add(each)
            each.close_files()

    unflushed = [each for each in logs if each.log_end_offset > each.recovery_point or not each.epochs.is_synced]
    if len(unflushed) < MANY_LOGS or not data_dir.can_sync_at_once():
        pools.for_each(logs, lambda each: close(each, UnifiedLog.close))
        return not incomplete
    for each in in_rounds(logs, LOGS_PER_ROUND):
        close(each, UnifiedLog.close_unsynced)
    data_dir.sync_at_once()
    for each in unflushed:
        if each not in incomplete:
            each.synced_at_close()
    return not incomplete
