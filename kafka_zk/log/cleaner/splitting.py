"""Splits an overflowed segment of a log in service.

Role        Acts on files. How a segment is split is in segments/splitting.py; the swap is that of a cleaning, so the
            next start undoes or completes it after a crash in the same way.
Source      Kafka 3.9 UnifiedLog.splitOverflowedSegment; KAFKA-6264.
"""

from __future__ import annotations

import logging
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from kafka_zk.log.cleaner.swap import replace_segments
from kafka_zk.log.segments.splitting import discard, may_overflow, overflowing_offset, split

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import UnifiedLog

log_lines = logging.getLogger("kafka.log.UnifiedLog")


def split_segment(log: UnifiedLog) -> None:
    """Blocks. Split the first segment of `log` that needs it. Raises KafkaStorageError."""
    log_dir = log.log_dir
    with log.turn, log_dir.guard(f"Error while splitting a segment of {log.topic_partition}"):
        log.refuse_if_closed()
        candidates = [each for each, following in pairwise(log.segments) if may_overflow(each, following.base_offset)]
        look = log.local.read_in_thread
        segment = next((each for each in candidates if look(each, overflowing_offset) is not None), None)
        if segment is None:
            return
        log_lines.info("%s Splitting overflowed segment %s", log.prefix, segment)
        make_parts = partial(split, now_ms=log_dir.clock.wall_ms(), disk=log_dir.disk)
        parts = look(segment, make_parts, log.directory, log.config)
        try:
            log_lines.info("%s Replacing overflowed segment %s with split segments %s", log.prefix, segment, parts)
            replace_segments(log, parts, [segment])
        except BaseException:
            if not log_dir.is_offline:
                discard(parts, log_dir.disk)
            raise
