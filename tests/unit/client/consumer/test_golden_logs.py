"""What Apache's broker wrote, read as Apache's consumer read it: every codec, transactions, legacy formats."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.client.consumer.fetched_partition import AbortedTransaction, FetchedPartition
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import batches
from kafka_zk.record.control import ControlType, marker_of
from kafka_zk.record.timestamp_type import TimestampType

GOLDEN = Path(__file__).parents[3] / "golden"
LOGS = [
    ("01-plain", "", "expected.json"),
    ("02-gzip", "", "expected.json"),
    ("03-snappy", "", "expected.json"),
    ("04-lz4", "", "expected.json"),
    ("05-zstd", "", "expected.json"),
    ("08-logappendtime", "", "expected.json"),
    ("09-transactions", "", "expected.json"),
    ("10-idempotent", "", "expected.json"),
    ("14-legacy-formats", "written", "expected.json"),
    ("14-legacy-formats", "upgraded", "expected-upgraded.json"),
]
KINDS = {
    "CreateTime": TimestampType.CREATE_TIME,
    "LogAppendTime": TimestampType.LOG_APPEND_TIME,
    "NoTimestampType": None,
}


def field(value: dict[str, str] | None) -> bytes | None:
    if value is None:
        return None
    return value["utf8"].encode() if "utf8" in value else base64.b64decode(value["base64"])


def aborted_in(data: bytes) -> list[AbortedTransaction]:
    """What the broker tells beside the records: read from the markers."""
    begun: dict[int, int] = {}
    aborted = []
    for batch in batches(data):
        header = batch.header
        if not header.is_control:
            if header.is_transactional:
                begun.setdefault(header.producer_id, header.base_offset)
            continue
        marker = marker_of(batch)
        first = begun.pop(header.producer_id, None)
        if marker is not None and marker.control_type is ControlType.ABORT and first is not None:
            aborted.append(AbortedTransaction(first, header.producer_id))
    return aborted


@pytest.mark.parametrize(("case", "folder", "expected"), LOGS)
def test_records_are_those_that_the_java_consumer_read(case: str, folder: str, expected: str) -> None:
    compared = 0
    for partition in json.loads((GOLDEN / case / expected).read_text()):
        directory = GOLDEN / case / folder / f"{partition['topic']}-{partition['partition']}"
        committed = partition["isolation_level"] == "read_committed"
        if not directory.exists() or (committed and "open" in partition["topic"]):
            continue
        data = b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))
        wanted: list[dict[str, Any]] = partition["records"]
        fetched = FetchedPartition(
            TopicPartition(partition["topic"], partition["partition"]),
            data,
            0,
            aborted=aborted_in(data) if committed else None,
        )
        found = fetched.take(10**6)
        assert [record.offset for record in found] == [row["offset"] for row in wanted]
        for record, row in zip(found, wanted, strict=True):
            assert (record.timestamp, record.timestamp_type) == (row["timestamp"], KINDS[row["timestamp_type"]])
            assert (record.key, record.value) == (field(row["key"]), field(row["value"]))
            assert record.headers == tuple((each["key"], field(each["value"])) for each in row["headers"])
            assert record.leader_epoch == row.get("leader_epoch")
        compared += 1
    assert compared
