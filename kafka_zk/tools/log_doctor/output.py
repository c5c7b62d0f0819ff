"""What the doctor prints: a table or JSON, a summary, progress on a terminal."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any, TextIO

from kafka_zk.log.doctor.checkup import CheckUp
from kafka_zk.log.doctor.findings import Finding, Severity

HEADINGS = ("SEVERITY", "PARTITION", "FILE", "FINDING", "NEXT START")
MIN_TEXT_WIDTH = 24
PROGRESS_INTERVAL_S = 0.2
CLEAR_LINE = "\r\x1b[K"


def print_findings(findings: Iterable[Finding], *, verbose: bool) -> None:
    """Normal findings are printed for directories only, unless `verbose`."""
    shown = [each for each in findings if verbose or each.kind.severity is not Severity.INFO or not each.partition]
    by_directory: dict[str, list[Finding]] = {}
    for each in shown:
        by_directory.setdefault(each.log_dir, []).append(each)
    for directory, those in sorted(by_directory.items()):
        print(f"{directory}:")
        rows = [_row(each) for each in those]
        for line in _table([HEADINGS, *rows], shutil.get_terminal_size().columns if sys.stdout.isatty() else None):
            print(line)
        print()


def _row(finding: Finding) -> tuple[str, ...]:
    kind = finding.kind
    # The partition's directory has its own column.
    file = finding.file.partition("/")[2] or finding.file
    file = "" if file == finding.partition else file
    what = f"{kind.name}: {finding.what}"
    return kind.severity.value.upper(), finding.partition or "-", file or "-", what, finding.start


def _table(rows: Sequence[Sequence[str]], width: int | None) -> Iterable[str]:
    """Aligned columns; the last two are wrapped to `width`, None for no limit."""
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        if width is None:
            what = row[3].ljust(max(len(each[3]) for each in rows))
            yield "  ".join([*(text.ljust(size) for text, size in zip(row[:3], widths, strict=True)), what, row[4]])
            continue
        room = max(width - sum(widths) - 2 * 4, 2 * MIN_TEXT_WIDTH)
        text_widths = (room * 3 // 5, room * 2 // 5)
        wrapped = [textwrap.wrap(text, size) or [""] for text, size in zip(row[3:], text_widths, strict=True)]
        for number, (what, start) in enumerate(zip_longest(*wrapped, fillvalue="")):
            first = row[:3] if number == 0 else ("", "", "")
            cells = [text.ljust(size) for text, size in zip(first, widths, strict=True)]
            yield "  ".join([*cells, what.ljust(text_widths[0]), start]).rstrip()


def summary(result: CheckUp, *, verbose: bool) -> str:
    size_bytes = sum(report.size_bytes for report in result.reports)
    segments = sum(report.segment_count for report in result.reports)
    errors, warnings, infos = (result.count(severity) for severity in Severity)
    hidden = "" if verbose or not infos else " (--verbose shows them)"
    return (
        f"{_count(len(result.log_dirs), 'directory', 'directories')}, {_count(len(result.reports), 'partition')}, "
        f"{_count(segments, 'segment')}, {size_bytes:,} bytes checked: {_count(errors, 'error')}, "
        f"{_count(warnings, 'warning')}, {infos} info{hidden}"
    )


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def as_json(result: CheckUp) -> str:
    """One document: directories, partitions, findings, summary."""
    document: dict[str, Any] = {
        "directories": [
            {
                "path": str(each.path),
                "clean_stop": each.clean_stop,
                "broker_id": each.meta.broker_id if each.meta else None,
                "cluster_id": each.meta.cluster_id if each.meta else None,
            }
            for each in result.log_dirs
        ],
        "partitions": [
            {
                "directory": str(each.task.directory),
                "topic": each.task.topic_partition.topic,
                "partition": each.task.topic_partition.partition,
                "size_bytes": each.size_bytes,
                "segments": each.segment_count,
                "log_start_offset": each.log_start_offset,
                "log_end_offset": each.end_offset,
                "leader_epoch": each.latest_epoch,
            }
            for each in result.reports
        ],
        "findings": [
            {
                "severity": each.kind.severity.value,
                "kind": each.kind.name,
                "directory": each.log_dir,
                "partition": each.partition,
                "file": each.file,
                "what": each.what,
                "start": each.start,
            }
            for each in result.findings()
        ],
        "summary": {f"{severity.value}s": result.count(severity) for severity in Severity},
    }
    return json.dumps(document, indent=1)


class Progress:
    """One line that overwrites itself, on a terminal only."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = stream.isatty()
        self._began = self._last = time.monotonic()

    def show(self, done_bytes: int, total_bytes: int) -> None:
        now = time.monotonic()
        if not self._shown or now - self._last < PROGRESS_INTERVAL_S:
            return
        self._last = now
        percent = 100 * done_bytes // max(total_bytes, 1)
        rate = done_bytes / (now - self._began) / 1e6
        done = f"{done_bytes / 1e6:,.0f} of {total_bytes / 1e6:,.0f} MB, {rate:,.0f} MB/s"
        self._stream.write(f"{CLEAR_LINE}{percent:3d} %  {done}")
        self._stream.flush()

    def end(self) -> None:
        if self._shown:
            self._stream.write(CLEAR_LINE)
            self._stream.flush()
