"""Old formats: produced sets come back as magic 2, old fetchers get what Apache sends them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.protocol.errors import BrokerError, InvalidRecord
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import Codec, Record, batches, build_batch, decode_records
from kafka_zk.record.compression import TooMuchToDecompress
from kafka_zk.record.conversion import COLUMNS_FROM_RECORDS, DownConversion, convert_down
from kafka_zk.record.legacy import MESSAGE_HEAD_BYTES, build_message_set
from kafka_zk.record.timestamp_type import TimestampType
from kafka_zk.record.validation import ValidationRules, validate
from tests.unit.record.golden_logs import GOLDEN, golden
from tests.unit.record.strategies import record_lists

FETCHED = json.loads((GOLDEN / "fetched-down" / "answers.json").read_text())
ANSWERS = FETCHED["answers"]
LEGACY_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
KEYS = st.none() | st.binary(max_size=5)
RULES = ValidationRules(TopicPartition("topic", 0))


@pytest.mark.parametrize(
    "answer", ANSWERS, ids=[f"{row['topic']}-v{row['api_version']}-from-{row['offset']}" for row in ANSWERS]
)
def test_an_old_fetcher_gets_what_apache_sends(answer: dict[str, Any]) -> None:
    log = bytes.fromhex(FETCHED["logs"][answer["topic"]])
    read = b"".join(batch.data for batch in batches(log) if batch.header.last_offset >= answer["offset"])
    expected = bytes.fromhex(answer["records"])
    magic = 0 if answer["api_version"] < 2 else 1
    try:
        sent = convert_down(read, magic=magic, first_offset=answer["offset"])
    except BrokerError as error:
        assert error.code == answer["error_code"]
        return
    assert answer["error_code"] == 0
    if "snappy" in answer["topic"]:  # another compressor, other packing
        assert records_of(sent) == records_of(expected)
        assert len(sent) == len(expected)
    else:
        assert sent == expected


def records_of(data: bytes) -> list[Record]:
    return [record for batch in batches(data) for record in decode_records(batch)]


def test_control_batches_are_not_for_old_fetchers() -> None:
    record = Record(0, 5, b"\0\0\0\1", b"\0\0\0\0\0\0")
    marker = build_batch([record], control=True, transactional=True)
    assert records_of(convert_down(marker, magic=1)) == []
    assert len(convert_down(marker, magic=1)) == 12


def test_nothing_read_is_nothing_sent() -> None:
    assert convert_down(b"", magic=1) == b""


def test_zstd_behind_other_batches_ends_the_answer() -> None:
    first = build_batch([Record(0, 5, b"k", b"v")])
    second = build_batch([Record(1, 5, b"k", b"v")], base_offset=1, codec=Codec.ZSTD)
    sent = convert_down(first + second, magic=1)
    assert len(sent) == len(first) + len(second)
    assert records_of(sent) == [Record(0, 5, b"k", b"v")]


@given(st.sampled_from([0, 1]), st.sampled_from(LEGACY_CODECS), record_lists())
def test_a_message_set_survives_a_round_trip(magic: int, codec: Codec, records: list[Record]) -> None:
    data = build_message_set(records, magic=magic, codec=codec)
    expected = [record._replace(headers=(), timestamp=record.timestamp if magic else -1) for record in records]
    assert records_of(bytes(data)) == expected
    assert all(batch.is_valid() for batch in batches(data))


@given(st.sampled_from([0, 1]), st.sampled_from(LEGACY_CODECS), record_lists())
def test_a_produced_message_set_becomes_one_batch(magic: int, codec: Codec, records: list[Record]) -> None:
    validated = validate(build_message_set(records, magic=magic, codec=codec), RULES, 0)
    (batch,) = batches(validated.records)
    expected = [record._replace(headers=(), timestamp=record.timestamp if magic else -1) for record in records]
    assert decode_records(batch) == expected
    assert (batch.header.magic, batch.header.codec_id) == (2, codec)
    assert batch.is_valid()


@given(st.sampled_from([0, 1]), st.sampled_from(LEGACY_CODECS), st.data())
def test_damaged_message_sets_raise_broker_errors_only(magic: int, codec: Codec, data: st.DataObject) -> None:
    records = [Record(index, 5, b"key", b"value") for index in range(3)]
    damaged = build_message_set(records, magic=magic, codec=codec)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        validate(damaged, RULES, 0)
        records_of(bytes(damaged))
    except BrokerError:
        pass


def test_gaps_of_a_compacted_wrapper_keep_their_offsets() -> None:
    records = [Record(10, 5, b"k", b"v"), Record(14, 5, b"k", b"v")]
    (wrapper,) = batches(build_message_set(records, magic=1, codec=Codec.GZIP))
    assert wrapper.header.last_offset == 14
    assert decode_records(wrapper) == records


def test_a_wrapper_offset_of_zero_is_taken_from_old_librdkafka() -> None:
    records = [Record(0, 5, b"k", b"v"), Record(1, 5, b"k", b"v")]
    data = build_message_set(records, magic=1, codec=Codec.GZIP)
    data[:8] = bytes(8)
    assert records_of(bytes(data)) == records


def test_a_wrapper_offset_below_its_last_message_is_refused() -> None:
    data = build_message_set([Record(index, 5, b"k", b"v") for index in range(3)], magic=1, codec=Codec.GZIP)
    data[7] = 1
    with pytest.raises(InvalidRecord, match="wrapper offset '1' is less than the last inner message offset '2'"):
        records_of(bytes(data))


def test_converting_apaches_magic_1_logs_down_to_magic_0_keeps_keys_and_values() -> None:
    case = golden("golden-legacy-v1-none-0")
    down = records_of(convert_down(case.segments[0], magic=0))
    assert down == [record._replace(timestamp=-1, headers=()) for record in case.expected][: len(down)]
    assert down


@given(
    st.sampled_from([0, 1]),
    st.sampled_from(LEGACY_CODECS),
    st.lists(st.tuples(st.integers(0, 2**41), KEYS, KEYS), min_size=1, max_size=2 * COLUMNS_FROM_RECORDS),
    st.integers(0, 2 * COLUMNS_FROM_RECORDS),
    st.sampled_from(TimestampType),
)
def test_many_records_and_few_come_down_alike(
    magic: int, codec: Codec, rows: list[Any], first_offset: int, timestamp_type: TimestampType
) -> None:
    records = [Record(index, *row, headers=(("h", b"v"),)) for index, row in enumerate(rows)]
    stored = build_batch(records, codec=codec, timestamp_type=timestamp_type, log_append_time_ms=9)
    kept = [record for record in records if codec is not Codec.NONE or record.offset >= first_offset]
    stamp = 9 if timestamp_type is TimestampType.LOG_APPEND_TIME else None
    expected = build_message_set(kept, magic=magic, codec=codec, log_append_time_ms=stamp) if kept else b""
    conversion = DownConversion(magic=magic, first_offset=first_offset)
    sent = b"".join(conversion.parts(batches(stored), len(stored)))
    assert sent[: len(expected)] == expected[: len(sent)]
    assert conversion.record_count == len(kept)
    unpacked = len(build_message_set(kept, magic=magic)) if kept else 0
    wrapper = 0 if codec is Codec.NONE else MESSAGE_HEAD_BYTES[magic]
    assert conversion.temporary_bytes == (len(stored) + unpacked + wrapper if kept else 0)


@pytest.mark.parametrize(
    ("magic", "first_offset", "record_count", "temporary_bytes"), [(1, 0, 10, 729), (0, 2, 8, 571)]
)
def test_what_a_conversion_costs_is_counted_as_apache_counts_it(
    magic: int, first_offset: int, record_count: int, temporary_bytes: int
) -> None:
    # Seen in TemporaryMemoryBytes and FetchMessageConversionsPerSec of a live 3.9.1; its gzip batch has 124 bytes.
    records = [Record(index, 1_700_000_000_000 + index, b"key", b"value%d" % index) for index in range(5)]
    plain = build_batch(records)
    packed = build_batch(
        [record._replace(offset=5 + record.offset) for record in records], base_offset=5, codec=Codec.GZIP
    )
    conversion = DownConversion(magic=magic, first_offset=first_offset)
    list(conversion.parts(batches(bytes(plain + packed)), len(plain + packed)))
    assert conversion.record_count == record_count
    assert conversion.temporary_bytes == temporary_bytes + len(packed) - 124


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_more_messages_than_memory_has_room_for_as_objects_are_refused(codec: Codec) -> None:
    records = [Record(index, 0, None, b"") for index in range(100)]
    produced = build_message_set(records, magic=1, codec=codec)
    rules = ValidationRules(TopicPartition("t", 0), decompressed_limit_bytes=100 * 256)
    assert validate(produced, rules, 0).header.record_count == 100
    with pytest.raises(TooMuchToDecompress, match="more than the limit of 99"):
        validate(produced, replace(rules, decompressed_limit_bytes=100 * 256 - 1), 0)


def test_a_batch_whose_offsets_leave_64_bits_is_not_converted() -> None:
    records = [Record(index, 5, b"k", b"v") for index in range(COLUMNS_FROM_RECORDS)]
    stored = build_batch(records)
    stored[:8] = (2**63 - 1).to_bytes(8, "big")
    with pytest.raises(InvalidRecord, match="do not fit 64 bits"):
        convert_down(stored, magic=1)


FIVE = [Record(index, 1_700_000_000_000 + index, b"key", b"value%d" % index) for index in range(5)]


@pytest.mark.parametrize(
    ("produced", "target", "noted"),
    [
        (build_batch(FIVE), None, []),
        (build_batch(FIVE, codec=Codec.GZIP), None, [(0, 141)]),
        (build_message_set(FIVE, magic=1), None, [(5, 141)]),
        (build_message_set(FIVE, magic=1, codec=Codec.GZIP), None, [(5, 417)]),
        (build_batch(FIVE), Codec.LZ4, [(5, 282)]),
    ],
    ids=["plain", "gzip", "message set", "gzip message set", "recompressed"],
)
def test_what_a_produced_batch_costs_to_convert_is_counted_as_apache_counts_it(
    produced: bytearray, target: Codec | None, noted: list[tuple[int, int]]
) -> None:
    # Records and bytes as a live 3.9.1 showed them in ProduceMessageConversionsPerSec and TemporaryMemoryBytes.
    found: list[tuple[int, int]] = []
    rules = ValidationRules(
        TopicPartition("topic", 0),
        target_codec=target,
        conversion_begins=lambda: lambda record_count, temporary_bytes: found.append((record_count, temporary_bytes)),
    )
    validate(bytearray(produced), rules, 0)
    assert found == noted
