"""Whatever the bytes: an object or DecodeError, and memory in proportion to the frame."""

from __future__ import annotations

import os
import random
import tracemalloc
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.header import decode_request_header, decode_response_header
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST

from .golden import CAPTURES, all_messages, message_of, rows

SEED = int(os.environ.get("FUZZ_SEED", "3901"))


def decodes(message: Message[Any], version: int, data: bytes) -> bool:
    """Whether the bytes gave an object; any exception but DecodeError fails the test."""
    try:
        value, position = message.decoder(version)(data, 0)
    except DecodeError:
        return False
    assert isinstance(value, message.value_class)
    assert 0 <= position <= len(data)
    return True


def test_arbitrary_bytes_give_an_object_or_a_decode_error():
    print(f"FUZZ_SEED={SEED}")
    chance = random.Random(SEED)
    outcomes = set()
    for message in all_messages():
        for version in range(message.min_version, message.max_version + 1):
            for _ in range(8):
                size = chance.choice((0, 1, 3, 10, 40, 200))
                # Small bytes make plausible lengths, so that the decoder gets deep.
                limit = chance.choice((2, 5, 256))
                data = bytes(chance.randrange(limit) for _ in range(size))
                outcomes.add(decodes(message, version, data))
    assert outcomes == {True, False}


def test_valid_messages_with_flipped_and_missing_bytes_give_an_object_or_a_decode_error():
    print(f"FUZZ_SEED={SEED}")
    chance = random.Random(SEED)
    outcomes = set()
    for row in rows("message-vectors"):
        message, valid = message_of(row), bytes.fromhex(row["hex"])
        for _ in range(6):
            data = bytearray(valid)
            for _ in range(chance.randint(1, 3)):
                if data:
                    data[chance.randrange(len(data))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            outcomes.add(decodes(message, row["version"], bytes(data[: chance.choice((None, chance.randrange(9999)))])))
    assert outcomes == {True, False}


def test_a_message_cut_short_anywhere_is_refused():
    for row in rows("message-vectors"):
        if row["variant"] == "full":
            message, valid = message_of(row), bytes.fromhex(row["hex"])
            for size in range(0, len(valid), max(1, len(valid) // 12)):
                assert not decodes(message, row["version"], valid[:size]), (message, row["version"], size)


@settings(max_examples=300, database=None)
@given(st.binary(max_size=40))
@example(bytes.fromhex("0012000300000001ffff0080808080808000"))
def test_arbitrary_bytes_are_a_header_or_a_decode_error(data: bytes):
    for decode in (decode_request_header, lambda frame: decode_response_header(frame, flexible=True)):
        try:
            decode(data)
        except DecodeError:
            continue


def test_captured_request_headers_cut_short_are_refused():
    for capture in CAPTURES:
        for row in rows(capture):
            frame = bytes.fromhex(row["request_hex"])
            for size in range(decode_request_header(frame).body_position):
                try:
                    decode_request_header(frame[:size])
                except DecodeError:
                    continue
                raise AssertionError((row["seq"], size))


def peak_bytes_of(message: Message[Any], version: int, data: bytes) -> int:
    """What decoding allocates at most; the decoder is compiled before."""
    message.decoder(version)
    tracemalloc.start()
    decodes(message, version, data)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak_bytes


def test_a_huge_count_allocates_nothing_in_any_message():
    huge = {True: b"\xff\xff\xff\xff\x07", False: b"\x7f\xff\xff\xff"}
    for message in all_messages():
        for version in range(message.min_version, message.max_version + 1):
            data = huge[message.is_flexible(version)] * 30
            assert peak_bytes_of(message, version, data) < 100_000, (message, version)


@pytest.mark.parametrize(("version", "count"), [(0, b"\x00\x04\x00\x00"), (9, b"\x81\x80\x10")])
def test_a_count_beyond_the_frame_is_refused_before_its_first_element_is_read(version: int, count: bytes):
    data = count + bytes(0x3FFFF)  # one byte less than the count of elements
    assert peak_bytes_of(METADATA_REQUEST, version, data) < 100_000
    with pytest.raises(DecodeError, match="collection of size 262144, but there are only 262143 bytes remaining"):
        METADATA_REQUEST.decode(data, version)
