"""A batch that grows record by record has the bytes of one that was built at once; both twins."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.record import appender as pure
from kafka_zk.record import appending
from kafka_zk.record.walking import encode

Appenders = pytest.mark.parametrize("appender_class", [pure.BatchAppender, appending.BatchAppender])
FIELDS = st.none() | st.binary(max_size=200)
RECORDS = st.tuples(
    st.integers(-1, 2**62), FIELDS, FIELDS, st.lists(st.tuples(st.text(max_size=5), FIELDS), max_size=3)
)


@Appenders
@given(records=st.lists(RECORDS, min_size=1, max_size=20))
def test_records_are_those_of_a_batch_built_at_once(appender_class: Any, records: list[Any]) -> None:
    appender = appender_class()
    sizes = [appender.append(*record, 2**30, 1.0) for record in records]
    numbered = [(index, *record) for index, record in enumerate(records)]
    assert appender.payload() == encode(numbered, 0, records[0][0])
    assert sum(sizes) == appender.size_bytes == len(appender.payload())
    assert (appender.count, appender.base_timestamp) == (len(records), records[0][0])
    assert appender.max_timestamp == max(record[0] for record in records)


@Appenders
def test_a_record_that_does_not_fit_leaves_no_trace(appender_class: Any) -> None:
    appender = appender_class()
    size = appender.append(5, None, b"x" * 100, (), 10, 1.0)
    assert size > 100, "the first record always fits"
    before = appender.payload()
    full = 61 + 2 * size
    assert appender.append(5, None, b"x" * 100, (), full - 1, 1.0) == 0
    assert appender.payload() == before
    assert appender.count == 1
    assert appender.append(5, None, b"x" * 100, (), full, 1.0) == size


@Appenders
def test_what_is_there_counts_by_the_ratio_and_the_new_record_in_full(appender_class: Any) -> None:
    appender = appender_class()
    size = appender.append(5, None, b"x" * 100, (), 10, 0.5)
    assert appender.append(5, None, b"x" * 100, (), 61 + size + size // 2 - 1, 0.5) == 0
    assert appender.append(5, None, b"x" * 100, (), 61 + size + size // 2 + 1, 0.5) == size


@Appenders
@pytest.mark.parametrize(("key", "value"), [("text", b""), (b"", 5), ([], None)])
def test_what_is_no_buffer_is_refused_and_leaves_no_trace(appender_class: Any, key: Any, value: Any) -> None:
    appender = appender_class()
    with pytest.raises(TypeError):
        appender.append(5, key, value, (), 1000, 1.0)
    assert (appender.count, appender.size_bytes) == (0, 0)


WITHOUT_MEMORY = """
import resource
from kafka_zk.record.appending import BatchAppender
from kafka_zk.record.appender import BatchAppender as PureAppender
from kafka_zk.record.walking import decode

large = bytes(200 << 20)
for appender in (BatchAppender(), PureAppender()):
    appender.append(1, b"k", b"1", (), 2**40, 1.0)
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    limit = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20), limit[1]))
    try:
        appender.append(2, b"k", large, (), 2**40, 1.0)
    except MemoryError:
        resource.setrlimit(resource.RLIMIT_AS, limit)
        appender.append(3, b"k", b"3", (), 2**40, 1.0)
        payload = appender.payload()
        print([record.value for record in decode(payload, 0, len(payload), appender.count, 1, 0)])
"""


def test_a_record_for_which_there_is_no_memory_leaves_no_trace() -> None:
    """The others of its batch must be readable."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_MEMORY], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[b'1', b'3']\n" * 2, "")
