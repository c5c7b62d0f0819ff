"""Hypothesis strategies for records."""

from __future__ import annotations

from hypothesis import strategies as st

from kafka_zk.record import Record

fields = st.none() | st.binary(max_size=70) | st.sampled_from([b"x" * 8191, b"y" * 8192])
header_lists = st.lists(st.tuples(st.text(max_size=6), st.none() | st.binary(max_size=8)), max_size=3).map(tuple)
timestamps = st.one_of(st.just(-1), st.integers(0, 2**63 - 1), st.integers(1_700_000_000_000, 1_700_000_001_000))


@st.composite
def record_lists(draw: st.DrawFn, *, min_size: int = 1, max_size: int = 8) -> list[Record]:
    """Records with offsets 0, 1, 2 ..."""
    rows = draw(st.lists(st.tuples(timestamps, fields, fields, header_lists), min_size=min_size, max_size=max_size))
    return [Record(index, *row) for index, row in enumerate(rows)]
