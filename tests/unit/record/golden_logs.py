"""The segment files that Apache Kafka 3.9.1 wrote, and what its consumer read from them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, NamedTuple

from kafka_zk.record import Batch, Record, batches

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


class Golden(NamedTuple):
    """One partition of a case."""

    name: str
    segments: list[bytes]
    expected: list[Record]

    def batches(self) -> list[Batch]:
        return [batch for segment in self.segments for batch in batches(segment)]


def _bytes(field: dict[str, str] | None) -> bytes | None:
    if field is None:
        return None
    return field["utf8"].encode() if "utf8" in field else base64.b64decode(field["base64"])


def _record(row: dict[str, Any]) -> Record:
    headers = tuple((header["key"], _bytes(header["value"])) for header in row["headers"])
    return Record(row["offset"], row["timestamp"], _bytes(row["key"]), _bytes(row["value"]), headers)


def load(case: str, *, folder: str = "", expected: str = "expected.json") -> list[Golden]:
    """Every partition of a case that was read without isolation, with its log segments in order."""
    root = GOLDEN / case
    loaded = []
    for partition in json.loads((root / expected).read_text()):
        directory = root / folder / f"{partition['topic']}-{partition['partition']}"
        if partition["isolation_level"] == "read_uncommitted" and directory.exists():
            segments = [path.read_bytes() for path in sorted(directory.glob("*.log"))]
            loaded.append(Golden(directory.name, segments, [_record(row) for row in partition["records"]]))
    assert loaded, f"no partitions in {case}"
    return loaded


CASES = [
    *(
        partition
        for case in (
            "01-plain",
            "02-gzip",
            "03-snappy",
            "04-lz4",
            "05-zstd",
            "06-broker-recompress-zstd",
            "07-broker-uncompressed",
            "08-logappendtime",
            "10-idempotent",
        )
        for partition in load(case)
    ),
    *load("14-legacy-formats", folder="written"),
    *load("14-legacy-formats", folder="upgraded", expected="expected-upgraded.json"),
]


def golden(name: str) -> Golden:
    return next(case for case in CASES if case.name == name)
