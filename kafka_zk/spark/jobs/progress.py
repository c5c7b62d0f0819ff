"""The progress of a running job: one updating line on a terminal, one line per batch elsewhere.

Role        Plain: counts, formats, prints.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from kafka_zk.spark.sources.stream_offsets import of_topics


@dataclass(slots=True)
class Progress:
    """Batches and records so far."""

    what: str
    records: int = 0
    batches: int = 0
    _line: str = ""
    _open: bool = False

    def note(self, batch_id: int, records: int, records_per_s: float) -> None:
        self.records += records
        self.batches += 1
        rate = f", {records_per_s:,.0f} records/s" if records_per_s else ""
        self._line = f"{self.what}: batch {batch_id}: {records:,} records{rate}; {self.records:,} so far"

    def show(self, output: TextIO) -> None:
        if output.isatty():
            output.write(f"\r\x1b[K{self._line}")
            self._open = True
        else:
            output.write(f"{self._line}\n")
        output.flush()

    def end(self, output: TextIO) -> None:
        if self._open:
            output.write("\n")
            output.flush()
        self._open = False


def end_offsets(report: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Topic -> partition -> next offset, where a batch's report says that its topics ended."""
    found: dict[str, dict[str, int]] = {}
    for source in report.get("sources", ()):
        offsets = source.get("endOffset")
        if isinstance(offsets, str):
            try:
                offsets = json.loads(offsets)
            except ValueError:
                continue
        if not isinstance(offsets, dict):
            continue
        for topic, partitions in of_topics(offsets):
            found.setdefault(topic, {}).update({index: int(offset) for index, offset in partitions.items()})
    return found
