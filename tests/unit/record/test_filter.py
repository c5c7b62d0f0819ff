"""The inner loops of compaction: both twins do the same, and what they say about records is true."""

from __future__ import annotations

from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_zk.protocol.errors import InvalidRecord, UnknownServerError
from kafka_zk.record import filter as pure
from kafka_zk.record import filtering
from kafka_zk.record.batch import HEADER_SIZE, Batch, batches, read_header
from kafka_zk.record.builder import assemble, build_batch
from kafka_zk.record.compression import Codec, codec_for_id
from kafka_zk.record.crc import crc32c
from kafka_zk.record.record import decode_records
from kafka_zk.record.types import Record
from kafka_zk.record.walking import encode

if filtering.FILTER == "compiled":
    from kafka_zk.record import _filter as compiled

    TWINS: list[ModuleType] = [pure, compiled]
else:
    TWINS = [pure]

SEED = bytes(range(16))
T0 = 1_700_000_000_000

keys = st.one_of(st.none(), st.sampled_from([b"", b"a", b"b", b"key-1", b"x" * 40]), st.binary(max_size=20))
records = st.tuples(
    st.integers(0, 3),
    st.integers(T0 - 1000, T0 + 1000) | st.just(-1) | st.integers(-(2**40), 2**60),
    keys,
    st.one_of(st.none(), st.binary(max_size=12)),
    st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2).map(tuple),
)


def laid_out(rows: list[tuple[int, int, bytes | None, bytes | None, tuple[object, ...]]], start: int) -> list[Record]:
    """Rows as records with growing offsets, each `row[0]` behind the last."""
    offset, out = start, []
    for gap, timestamp, key, value, headers in rows:
        offset += gap
        out.append(Record(offset, timestamp, key, value, headers))  # type: ignore[arg-type]
        offset += 1
    return out


logs = st.lists(st.lists(records, min_size=1, max_size=6), min_size=1, max_size=6)


def built(rows: list[list[tuple[int, int, bytes | None, bytes | None, tuple[object, ...]]]]) -> bytes:
    data, offset = b"", 10
    for batch in rows:
        placed = laid_out(batch, offset)
        codec = Codec(len(data) % 7 % 5)
        data += build_batch(placed, base_offset=offset, codec=codec, producer_id=len(data) % 3 - 1, base_sequence=0)
        offset = placed[-1].offset + 1
    return data


def new_table(slots: int = 256) -> memoryview:
    return memoryview(bytearray(slots * pure.SLOT_BYTES))


def test_the_compiled_loops_are_the_ones_that_run() -> None:
    assert filtering.FILTER == "compiled", "build them: python setup.py build_ext --inplace"


@given(logs, st.integers(0, 40), st.integers(1, 30), st.integers(0, 60), st.booleans())
@settings(max_examples=150)
def test_twins_agree_on_every_log(
    rows: list[list[tuple[int, int, bytes | None, bytes | None, tuple[object, ...]]]],
    start_offset: int,
    limit: int,
    latest: int,
    is_past: bool,
) -> None:
    data = memoryview(built(rows))
    now_ms = T0 if is_past else 0
    outcomes = []
    for twin in TWINS:
        table = new_table()
        mapped = twin.map_run(table, SEED, 0, limit, data, 0, start_offset)
        position, steps = 0, []
        while position < len(data):
            run = twin.filter_run(table, SEED, latest, now_ms, {12, 20}, data, position)
            steps.append(run)
            if run.position == len(data):
                break
            batch = Batch(data, run.position, read_header(data, run.position))
            header = batch.header
            payload = codec_for_id(header.codec_id).decompress(batch.payload)
            assert run.payload == (payload if run.selection and header.is_compressed else None)
            place = (payload, 0, len(payload))
            chosen = twin.select(table, SEED, latest, True, *place, header.record_count, header.base_offset)
            steps.append(chosen)
            for base, stamp in ((None, None), (T0, None), (None, T0 + 7), (T0, T0 + 7)):
                steps.append(twin.rewrite(*place, chosen.mask, header.base_timestamp, base, stamp))
            position = batch.end
        outcomes.append((mapped, steps))
    assert all(outcome == outcomes[0] for outcome in outcomes)


@pytest.mark.parametrize("twin", TWINS)
@given(rows=st.lists(records, min_size=1, max_size=8), mask=st.lists(st.booleans(), min_size=8, max_size=8))
@settings(max_examples=60)
def test_what_is_rewritten_holds_the_chosen_records_and_nothing_else(
    twin: ModuleType,
    rows: list[tuple[int, int, bytes | None, bytes | None, tuple[object, ...]]],
    mask: list[bool],
) -> None:
    placed = laid_out(rows, 5)
    data = memoryview(build_batch(placed, base_offset=5))
    header = read_header(data)
    chosen = bytes(mask[: len(placed)])
    written = twin.rewrite(data, HEADER_SIZE, len(data), chosen, header.base_timestamp, None, None)
    kept = [record for record, stays in zip(placed, chosen, strict=True) if stays]
    again = assemble(
        written.payload,
        base_offset=5,
        leader_epoch=0,
        attributes=0,
        last_offset_delta=0,
        base_timestamp=written.base_timestamp,
        max_timestamp=written.max_timestamp,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        count=len(kept),
    )
    (batch,) = batches(again)
    assert decode_records(batch) == kept
    assert written.max_timestamp == max([-1, *(record.timestamp for record in kept)])


@pytest.mark.parametrize("twin", TWINS)
@given(puts=st.lists(st.tuples(st.binary(max_size=30), st.integers(0, 1000)), max_size=60))
@settings(max_examples=60)
def test_a_table_knows_the_largest_offset_of_each_key(twin: ModuleType, puts: list[tuple[bytes, int]]) -> None:
    table, known = new_table(64), dict[bytes, int]()
    for key, offset in puts:
        assert twin.put_key(table, SEED, key, offset) == (key not in known)
        known[key] = max(offset, known.get(key, -1))
    assert {key: twin.find_key(table, SEED, key) for key in known} == known
    assert twin.find_key(table, SEED, b"never " * 8) == -1


@pytest.mark.parametrize("twin", TWINS)
def test_a_table_without_room_says_so(twin: ModuleType) -> None:
    table = new_table(2)
    for key in (b"a", b"b"):
        twin.put_key(table, SEED, key, 1)
    assert not twin.put_key(table, SEED, b"a", 2)
    with pytest.raises(OverflowError):
        twin.put_key(table, SEED, b"c", 1)


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("at", [17, 61, 70, 80])
def test_bad_bytes_are_left_to_the_caller(twin: ModuleType, at: int) -> None:
    first = build_batch([Record(0, T0, b"a", b"1")])
    bad = bytearray(build_batch([Record(1, T0, b"b", b"2" * 30)], base_offset=1))
    bad[at] ^= 0x55
    data = memoryview(first + bad)
    table = new_table()
    assert twin.map_run(table, SEED, 0, 10, data, 0, 0) == (len(first), 1, 0, False, 1)
    assert twin.filter_run(table, SEED, 1, T0, set(), data, 0).position == len(first)


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("codec", [codec for codec in Codec if codec is not Codec.NONE])
def test_a_compressed_batch_is_as_plain_as_any_other(twin: ModuleType, codec: Codec) -> None:
    table, records = new_table(), [Record(index, T0, b"%d" % (index % 70), b"v") for index in range(100)]
    again = build_batch([Record(100, T0, b"0", b"v")], base_offset=100, codec=codec)
    data = memoryview(build_batch(records, codec=codec) + again)
    assert twin.map_run(table, SEED, 0, 200, data, 0, 0) == (len(data), 70, 100, False, 101)
    run = twin.filter_run(table, SEED, 100, T0, set(), data, 0)
    assert run.position == 0 and run.payload == encode(records, 0, T0)
    # Of keys 0 to 29 the later records stay, but key 0 comes again in the second batch.
    assert run.selection.mask == bytes(30) + bytes([1] * 40) + bytes([0]) + bytes([1] * 29)
    run = twin.filter_run(table, SEED, 100, T0, set(), data, read_header(data).size_bytes)
    assert run.position == len(data) and run.kept_count == 1 and run.selection is run.payload is None


@pytest.mark.parametrize("twin", TWINS)
def test_a_batch_with_fewer_records_than_it_claims_leaves_the_table_alone(twin: ModuleType) -> None:
    made = build_batch([Record(0, T0, b"a", b"1")])
    made[57:61] = (2).to_bytes(4, "big")
    made[17:21] = crc32c(made[21:]).to_bytes(4, "big")
    table = new_table()
    assert twin.map_run(table, SEED, 0, 9, memoryview(made), 0, 0) == (0, 0, -1, False, 0)
    assert not any(table)


@pytest.mark.parametrize("twin", TWINS)
def test_what_does_not_decompress_ends_the_pass(twin: ModuleType) -> None:
    good = read_header(build_batch([Record(0, T0, b"a", b"1")], codec=Codec.ZSTD))
    bad = assemble(
        b"no frame",
        base_offset=0,
        leader_epoch=0,
        attributes=good.attributes,
        last_offset_delta=0,
        base_timestamp=T0,
        max_timestamp=T0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        count=1,
    )
    with pytest.raises(UnknownServerError):
        twin.map_run(new_table(), SEED, 0, 9, memoryview(bad), 0, 0)
    with pytest.raises(UnknownServerError):
        twin.filter_run(new_table(), SEED, 9, T0, set(), memoryview(bad), 0)


@pytest.mark.parametrize("twin", TWINS)
def test_a_payload_that_is_not_what_its_count_says_is_refused(twin: ModuleType) -> None:
    payload = bytes(build_batch([Record(0, T0, b"a", b"1")])[HEADER_SIZE:])
    for bad, count in ((payload, 2), (payload + b"\x00", 1), (payload[:-1], 1), (b"\x7f" * 20, 1)):
        with pytest.raises(InvalidRecord):
            twin.select(new_table(), SEED, 10, True, bad, 0, len(bad), count, 0)
        with pytest.raises(InvalidRecord):
            twin.put_keys(new_table(), SEED, 0, 9, bad, 0, len(bad), count, 0, 0)
        with pytest.raises(InvalidRecord):
            twin.rewrite(bad, 0, len(bad), b"\x01" * count, 0, None, None)
