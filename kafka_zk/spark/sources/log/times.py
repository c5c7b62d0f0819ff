"""Looks up times in a partition's segments.

Role        Plain: opens files for reading only.
Invariants  The batches decide, no index does: a .timeindex may lack entries at its end or in the middle, and nothing in
            it shows that. Of a segment that is all earlier only the headers of its batches are read.
"""

from __future__ import annotations

import os

from kafka_zk.log.doctor.walk import Walked
from kafka_zk.protocol.errors import BrokerError, CorruptMessage
from kafka_zk.record.batch import HEADER_SIZE, read_header
from kafka_zk.record.record import decode_records
from kafka_zk.spark.sources.errors import SourceError
from kafka_zk.spark.sources.log.segments import Log, Segment, batches_from, opened


def offset_for_time(log: Log, timestamp: int) -> int | None:
    """Blocks. Returns the offset of the first record from `timestamp` (ms) on; None if none. Raises SourceError."""
    for segment in log.segments:
        if _is_before(segment, timestamp):
            continue
        begin = max(log.log_start_offset, segment.base_offset)
        for each in batches_from(segment, begin):
            if each.header.max_timestamp >= timestamp and not each.header.is_control:
                offset = _first_record(each, begin, timestamp)
                if offset is not None:
                    return offset
    return None


def _is_before(segment: Segment, timestamp: int) -> bool:
    """Whether all batches are earlier. False also where headers do not lead from one to the next."""
    position = 0
    try:
        with opened(segment.path) as descriptor:
            while position < segment.size_bytes:
                header = read_header(os.pread(descriptor, HEADER_SIZE, position))
                if header.max_timestamp >= timestamp:
                    return False
                position += header.size_bytes
    except CorruptMessage:
        return False
    except OSError as error:
        raise SourceError(f"Cannot read {segment.path}: {error.strerror}") from error
    return position == segment.size_bytes


def _first_record(each: Walked, begin: int, timestamp: int) -> int | None:
    batch = each.batch()
    if batch is None:
        return each.header.base_offset
    try:
        records = decode_records(batch)
    except BrokerError as error:
        raise SourceError(f"The batch of offset {each.header.base_offset} cannot be decoded: {error}") from error
    return next((each.offset for each in records if each.offset >= begin and each.timestamp >= timestamp), None)
