"""What an audit of a live cluster fetches of one replica, whose log is real."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.spark.jobs import audit_live
from tests.unit.spark.live_source import LiveSource

COUNT, MIDDLE = 30, 10


@pytest.fixture
def source(tmp_path: Path) -> Iterator[LiveSource]:
    made = LiveSource(tmp_path / "log", retention_bytes="1000", retention_ms="-1")
    made.produce(COUNT)
    yield made
    made.close()


def test_a_replica_whose_log_begins_later_is_fetched_from_there(source: LiveSource) -> None:
    """Retention has deleted its first records: their offsets are out of range, which is no fault."""
    source.broker.log_manager.clean_up_logs()
    start = source.log.log_start_offset
    assert 0 < start < COUNT
    rows, digests = source.audited()
    assert not rows
    assert [base for _, _, _, base, _, crc, *_ in digests if crc is not None] == list(range(start, COUNT))
    assert digests[-1][3:6] == (start, COUNT - 1, None)


def test_what_retention_takes_while_a_replica_is_fetched_is_no_fault(
    source: LiveSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_live, "FETCH_BYTES", 1)
    source.before_fetch_from(MIDDLE, source.broker.log_manager.clean_up_logs)
    rows, digests = source.audited()
    start = source.log.log_start_offset
    assert MIDDLE < start < COUNT
    assert not rows
    bases = [base for _, _, _, base, _, crc, *_ in digests if crc is not None]
    assert bases == [*range(MIDDLE), *range(start, COUNT)]
