"""The compiled walker and its pure twin: the same answers and the same errors, whatever the bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_zk.protocol.errors import InvalidRecord
from kafka_zk.record import Record, build_batch, read_header, walker
from kafka_zk.record.batch import CRC_AT, CRC_FROM, LEADER_EPOCH_AT, MAX_TIMESTAMP_AT
from kafka_zk.record.walking import WALKER
from tests.unit.record.strategies import record_lists

_walker = pytest.importorskip("kafka_zk.record._walker", reason="the compiled walker is not built")

INT64 = st.integers(-(2**63), 2**63 - 1)
TWINS = pytest.mark.parametrize("twin", [walker, _walker], ids=["pure", "compiled"])


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except (InvalidRecord, ValueError, OverflowError) as error:
        return type(error), str(error)


def both(name: str, *arguments: Any) -> None:
    assert outcome(getattr(walker, name), *arguments) == outcome(getattr(_walker, name), *arguments)


def varint(value: int) -> bytes:
    out = bytearray()
    raw = (value << 1) ^ (value >> 63)
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes(out) + bytes((raw,))


def test_the_compiled_walker_is_the_one_that_runs() -> None:
    assert WALKER == "compiled"


@given(record_lists(min_size=0), st.integers(-5, 5), INT64)
def test_the_twins_encode_the_same_bytes(records: list[Record], base_offset: int, base_timestamp: int) -> None:
    assert walker.encode(records, base_offset, base_timestamp) == _walker.encode(records, base_offset, base_timestamp)


@given(record_lists(min_size=0), INT64, INT64)
def test_what_was_encoded_decodes_to_the_same_records(
    records: list[Record], base_offset: int, base_timestamp: int
) -> None:
    moved = [record._replace(offset=min(base_offset + record.offset, 2**63 - 1)) for record in records]
    payload = _walker.encode(moved, base_offset, base_timestamp)
    for twin in (walker, _walker):
        assert twin.decode(payload, 0, len(payload), len(records), base_timestamp, base_offset) == moved


@settings(max_examples=300)
@given(st.binary(max_size=60), st.integers(-2, 6), INT64)
def test_the_twins_agree_on_random_bytes(data: bytes, count: int, base_timestamp: int) -> None:
    both("walk", data, 0, len(data), count, base_timestamp)
    both("columns", data, 0, len(data), count, base_timestamp)
    both("decode", data, 0, len(data), count, base_timestamp, 0)
    both("decode_headers", data, 0, len(data))


@settings(max_examples=300)
@given(record_lists(), st.data(), INT64)
def test_the_twins_agree_on_damaged_records(records: list[Record], data: st.DataObject, base_timestamp: int) -> None:
    payload = bytearray(walker.encode(records, 0, base_timestamp))
    for _ in range(data.draw(st.integers(0, 3))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.sampled_from([len(payload), max(0, len(payload) - 1)]))
    count = len(records) + data.draw(st.integers(-1, 1))
    both("walk", payload, 0, end, count, base_timestamp)
    both("columns", payload, 0, end, count, base_timestamp)
    both("decode", payload, 0, end, count, base_timestamp, 5)


@given(record_lists(), INT64)
def test_a_walk_tells_bounds_null_keys_and_order(records: list[Record], base_timestamp: int) -> None:
    payload = walker.encode(records, 0, base_timestamp)
    largest, index, smallest, null_key, consecutive = _walker.walk(
        payload, 0, len(payload), len(records), base_timestamp
    )
    stamps = [record.timestamp for record in records]
    assert largest == max(stamps)
    assert index == (stamps.index(largest) if largest >= 0 else -1)
    assert smallest == min((stamp for stamp in stamps if stamp != -1), default=2**63 - 1)
    assert null_key == any(record.key is None for record in records)
    assert consecutive


@TWINS
def test_offset_deltas_that_are_not_counted_up_are_noticed(twin: Any) -> None:
    payload = twin.encode([Record(0, 0, b"", b""), Record(2, 0, b"", b"")], 0, 0)
    assert twin.walk(payload, 0, len(payload), 2, 0)[4] is False


@TWINS
def test_columns_point_at_keys_values_and_headers(twin: Any) -> None:
    records = [Record(3, 10, b"key", None, (("h", b"1"), ("", None))), Record(5, 9, None, b"value", ())]
    payload = bytes(4) + twin.encode(records, 3, 10)
    rows = twin.columns(payload, 4, len(payload), 2, 10)
    assert list(rows.offset_deltas) == [0, 2]
    assert list(rows.timestamps) == [10, 9]
    assert payload[rows.key_starts[0] :][: rows.key_sizes[0]] == b"key"
    assert (rows.key_sizes[1], rows.value_sizes[0]) == (-1, -1)
    assert payload[rows.value_starts[1] :][: rows.value_sizes[1]] == b"value"
    assert twin.decode_headers(payload, rows.header_starts[0], len(payload)) == (("h", b"1"), ("", None))
    assert twin.decode_headers(payload, rows.header_starts[1], len(payload)) == ()


@TWINS
@given(INT64, st.integers(-(2**31), 2**31 - 1))
def test_offset_and_leader_epoch_are_all_that_assigning_offsets_changes(twin: Any, offset: int, epoch: int) -> None:
    batch = build_batch([Record(0, 7, b"key", b"value")])
    unassigned = bytes(batch)
    twin.assign_offsets(memoryview(batch), offset, epoch)
    header = read_header(batch)
    assert (header.base_offset, header.partition_leader_epoch) == (offset, epoch)
    assert header._replace(base_offset=0, partition_leader_epoch=-1) == read_header(unassigned)
    assert batch[LEADER_EPOCH_AT + 4 :] == unassigned[LEADER_EPOCH_AT + 4 :]


@TWINS
def test_offsets_are_assigned_to_whole_headers_in_writable_memory_only(twin: Any) -> None:
    with pytest.raises(ValueError, match="shorter than the header of a batch"):
        twin.assign_offsets(bytearray(60), 1, 1)
    with pytest.raises((BufferError, TypeError)):
        twin.assign_offsets(bytes(61), 1, 1)


BODY = b"\0" + varint(0) * 2 + varint(-1) * 2  # no key, no value; the header count is missing
MALFORMED = {
    "nothing where a record should be": (b"", 1, "premature EOF reached"),
    "bytes behind the last record": (varint(6) + BODY + b"\0" + b"\0", 1, "records still remaining"),
    "fewer records than there are": (varint(6) + BODY + b"\0", 0, "records still remaining"),
    "a record longer than the payload": (
        varint(9) + BODY + b"\0",
        1,
        "expected 9 bytes in record payload",
    ),
    "a record longer than its fields": (
        varint(7) + BODY + b"\0\0",
        1,
        "expected to read 7 bytes in record",
    ),
    "a record of no bytes": (varint(0), 1, "Found invalid record structure"),
    "a negative record length": (varint(-3), 1, "Found invalid record structure"),
    "a length of more than 5 bytes": (b"\x80" * 5 + b"\0", 1, "Found invalid record structure"),
    "a negative count of records": (b"", -1, "Found invalid record count -1 in magic v2 batch"),
    "a negative count of headers": (varint(6) + BODY + varint(-1), 1, "Found invalid number of record headers -1"),
    "more headers than bytes": (varint(6) + BODY + varint(9), 1, "record headers. 9 is larger than the remaining size"),
    "a header without key": (varint(7) + BODY + varint(1) + varint(-1), 1, "Invalid negative header key size"),
    "a key beyond the record": (varint(4) + b"\0" + varint(0) * 2 + varint(40), 1, "Found invalid record structure"),
}


@TWINS
@pytest.mark.parametrize("payload, count, text", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_records_are_refused(twin: Any, payload: bytes, count: int, text: str) -> None:
    for call in (
        lambda: twin.walk(payload, 0, len(payload), count, 0),
        lambda: twin.columns(payload, 0, len(payload), count, 0),
        lambda: twin.decode(payload, 0, len(payload), count, 0, 0),
    ):
        with pytest.raises(InvalidRecord) as caught:
            call()
        assert text in str(caught.value)


@TWINS
def test_a_claim_of_two_billion_records_costs_no_memory(twin: Any) -> None:
    with pytest.raises(InvalidRecord):
        twin.columns(b"\0" * 50, 0, 50, 2**31 - 1, 0)


@TWINS
@pytest.mark.parametrize("position, end", [(-1, 3), (0, 5), (3, 2)])
def test_a_walk_outside_the_buffer_is_our_bug(twin: Any, position: int, end: int) -> None:
    with pytest.raises(ValueError, match="must lie inside"):
        twin.walk(b"1234", position, end, 1, 0)


@TWINS
def test_timestamps_wrap_as_in_java(twin: Any) -> None:
    payload = twin.encode([Record(0, 2**63 - 1, b"", b"")], 0, -(2**63))
    assert twin.walk(payload, 0, len(payload), 1, -(2**63))[0] == 2**63 - 1
    assert twin.walk(payload, 0, len(payload), 1, -(2**63) + 1)[2] == -(2**63)


@TWINS
def test_an_offset_too_far_from_its_base_is_not_encoded(twin: Any) -> None:
    with pytest.raises(OverflowError):
        twin.encode([Record(2**31, 0, None, None)], 0, 0)
    with pytest.raises(OverflowError):
        twin.encode([Record(0, 2**63, None, None)], 0, 0)


@TWINS
def test_headers_that_are_not_utf_8_are_mended(twin: Any) -> None:
    payload = varint(9) + BODY + varint(1) + varint(1) + b"\xff" + varint(-1)
    (record,) = twin.decode(payload, 0, len(payload), 1, 0, 0)
    assert record.headers == (("\ufffd", None),)
    encoded = twin.encode([Record(0, 0, None, None, (("\ud800", None),))], 0, 0)
    assert encoded == varint(9) + BODY + varint(1) + varint(1) + b"?" + varint(-1)


@TWINS
def test_a_big_payload_is_walked_too(twin: Any) -> None:
    records = [Record(index, index, b"k", bytes(100)) for index in range(1500)]
    payload = twin.encode(records, 0, 0)
    assert len(payload) > 128 * 1024
    assert twin.walk(payload, 0, len(payload), 1500, 0) == (1499, 1499, 0, False, True)


@settings(max_examples=300)
@given(record_lists(), st.data())
def test_the_twins_agree_on_which_batches_are_plain_and_in_order(records: list[Record], data: st.DataObject) -> None:
    batch = bytearray(build_batch(records, producer_id=data.draw(st.sampled_from([-1, 7])), base_sequence=3))
    if data.draw(st.booleans()):
        # Fields of the header, with and without a crc that covers the damage.
        batch[data.draw(st.integers(0, len(batch) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        batch[CRC_AT:CRC_FROM] = crc32c(bytes(batch[CRC_FROM:])).to_bytes(4, "big")
    del batch[len(batch) - data.draw(st.sampled_from([0, 0, 0, 1, len(batch) // 2])) :]
    both(
        "plain_header",
        batch,
        data.draw(st.sampled_from([1 << 20, len(batch), len(batch) - 1])),
        data.draw(st.booleans()),
    )


@TWINS
def test_a_plain_batch_in_order_is_told_by_its_header(twin: Any) -> None:
    batch = bytearray(build_batch([Record(0, 1000, b"k", b"v")]))
    assert twin.plain_header(batch, 1000, True) == read_header(batch)
    assert twin.plain_header(bytes(batch), 1000, True) is None, "memory that cannot be written"
    assert twin.plain_header(batch, len(batch) - 1, True) is None, "too large"
    assert twin.plain_header(bytearray(build_batch([Record(0, 1000, None, b"v")])), 1000, True) is None, "no key"
    batch[MAX_TIMESTAMP_AT + 7] ^= 1
    batch[CRC_AT:CRC_FROM] = crc32c(bytes(batch[CRC_FROM:])).to_bytes(4, "big")
    assert twin.plain_header(batch, 1000, True) is None, "another max timestamp than the records have"
