"""Batches that this project builds, read by Apache Kafka's own kafka-dump-log."""

from __future__ import annotations

import re
from pathlib import Path

from kafka_zk.record import Codec, Record, batches, build_batch
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.legacy import build_message_set
from tests.support.apache import run_tool

T0 = 1_700_000_000_000
VALUE = "".join(f"word{number % 97}-" for number in range(12_000))  # 80 KB: several blocks of each codec
LEVELS = {Codec.GZIP: (1, 9), Codec.LZ4: (1, 2, 3, 12, 17), Codec.ZSTD: (-7, 1, 19)}
RECORDS_PER_BATCH = 3


def records_from(offset: int) -> list[Record]:
    return [
        Record(offset, T0 + offset, b"key-%d" % offset, b"value-%d" % offset, (("header", b"1"),)),
        Record(offset + 1, T0 + offset + 1, b"null-value", None),
        Record(offset + 2, T0 + offset, None, VALUE.encode()),
    ]


def all_kinds_of_batches() -> bytearray:
    """A segment with each codec and level in magic 2, 1 and 0, and two markers at its end."""
    segment = bytearray()
    offset = 0
    for codec in Codec:
        for level in (None, *LEVELS.get(codec, ())):
            segment += build_batch(records_from(offset), base_offset=offset, codec=codec, level=level, leader_epoch=0)
            offset += RECORDS_PER_BATCH
    for magic in (0, 1):
        for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
            segment += build_message_set(records_from(offset), magic=magic, codec=codec)
            offset += RECORDS_PER_BATCH
    for control_type in (ControlType.COMMIT, ControlType.ABORT):
        marker = EndTransactionMarker(control_type, coordinator_epoch=4)
        segment += build_marker(marker, producer_id=7, producer_epoch=1, timestamp_ms=T0, base_offset=offset)
        offset += 1
    return segment


def test_apache_reads_every_kind_of_batch_we_build(tmp_path: Path) -> None:
    segment = all_kinds_of_batches()
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(segment)
    run = run_tool("kafka.tools.DumpLogSegments", "--deep-iteration", "--print-data-log", "--files", str(path))
    assert run.exit_code == 0, run.stderr
    headers = [line for line in run.stdout.splitlines() if "isvalid" in line]
    records = [line for line in run.stdout.splitlines() if line.startswith("| offset:")]
    found = list(batches(segment))
    assert len(headers) == len(found)
    assert all("isvalid: true" in line for line in headers)
    assert [int(re.findall(r"crc: (\d+)", line)[0]) for line in headers] == [batch.header.crc for batch in found]
    wanted = sum(RECORDS_PER_BATCH for batch in found if not batch.header.is_control and batch.header.magic == 2)
    wanted += sum(RECORDS_PER_BATCH if batch.header.is_compressed else 1 for batch in found if batch.header.magic < 2)
    assert len(records) == wanted + 2
    assert sum(line.endswith(f"payload: {VALUE}") for line in records) == wanted // RECORDS_PER_BATCH
    assert "endTxnMarker: COMMIT coordinatorEpoch: 4" in records[-2]
    assert "endTxnMarker: ABORT coordinatorEpoch: 4" in records[-1]
