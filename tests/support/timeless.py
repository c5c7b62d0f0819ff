"""Batches as what of them does not depend on when they were written: to compare the logs of two brokers.

What a broker writes of its own (markers, records of coordinators) carries its clock. Each such time is masked, where
there is one, and with it the checksum; lengths stay, so that batches with equal pictures have bytes of equal layout.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kafka_zk.record.batch import Batch, BatchHeader, batches
from kafka_zk.record.record import decode_records

MASKED = 1
NO_TIME = -1
OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
TIMES_AT_THE_END: Mapping[str, int] = {OFFSETS: 1, TRANSACTIONS: 2}
"""How many times the values of a topic end with, as 64-bit numbers: when an offset was committed; when a transaction
changed and when it began."""


class Picture(NamedTuple):
    """A batch, with keys and values of its records."""

    header: BatchHeader
    records: list[tuple[bytes | None, bytes | None]]


def pictures(data: bytes | memoryview, topic: str = "") -> list[Picture]:
    """Of whole batches. Those of clients keep their times: two brokers are sent the same."""
    return [_picture(batch, TIMES_AT_THE_END.get(topic)) for batch in batches(data)]


def pictures_of_log(directory: Path) -> dict[str, list[Picture]]:
    """By the name of each segment of one partition."""
    topic = directory.name.rpartition("-")[0]
    return {file.name: pictures(file.read_bytes(), topic) for file in sorted(directory.glob("*.log"))}


def _picture(batch: Batch, times: int | None) -> Picture:
    header = batch.header
    if header.is_control or times is not None:
        header = header._replace(crc=MASKED, base_timestamp=MASKED, max_timestamp=MASKED)
    count = 0 if header.is_control or times is None else times
    records = [
        (_bytes(record.key), None if record.value is None else without_times(bytes(record.value), count))
        for record in decode_records(batch)
    ]
    return Picture(header, records)


def _bytes(data: bytes | memoryview | None) -> bytes | None:
    return None if data is None else bytes(data)


def without_times(value: bytes, count: int) -> bytes:
    """`value` with the 64-bit times at its end masked, but for those that say that there is none."""
    layout = struct.Struct(f">{count}q")
    start = len(value) - layout.size
    times = [time if time == NO_TIME else MASKED for time in layout.unpack_from(value, start)]
    return value[:start] + layout.pack(*times)
