"""Request and response headers."""

from __future__ import annotations

import pytest

from kafka_zk.protocol.errors import DecodeError, ErrorCode
from kafka_zk.protocol.header import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
    response_header_is_flexible,
)

API_VERSIONS, METADATA, CONTROLLED_SHUTDOWN = 18, 3, 7


def test_a_flexible_body_has_a_tag_section_in_its_header():
    assert encode_request_header(METADATA, 8, 1, "me") == bytes.fromhex("00030008000000010002") + b"me"
    assert encode_request_header(METADATA, 9, 1, "me") == bytes.fromhex("00030009000000010002") + b"me\0"


def test_only_the_first_controlled_shutdown_has_no_client_id():
    assert encode_request_header(CONTROLLED_SHUTDOWN, 0, 5, "1") == bytes.fromhex("0007000000000005")
    header = decode_request_header(bytes.fromhex("000700000000000500000009"))
    assert header == RequestHeader(CONTROLLED_SHUTDOWN, 0, 5, "", 8)
    assert decode_request_header(encode_request_header(CONTROLLED_SHUTDOWN, 1, 5, "1")).client_id == "1"


def test_a_null_client_id_reads_as_empty():
    frame = encode_request_header(METADATA, 1, 1, None)
    assert frame[-2:] == b"\xff\xff"
    assert decode_request_header(frame) == RequestHeader(METADATA, 1, 1, "", 10)


def test_a_version_nobody_has_still_gives_a_header():
    frame = bytes.fromhex("0012006300000001000161") + b"\0"
    assert decode_request_header(frame) == RequestHeader(API_VERSIONS, 99, 1, "a", 12)
    negative = bytes.fromhex("0003ffff00000001000161")
    assert decode_request_header(negative) == RequestHeader(METADATA, -1, 1, "a", 11)


def test_tags_of_the_header_are_skipped():
    frame = bytes.fromhex("0003000c00000001ffff" + "02" + "0001aa" + "8101" + "02bbcc") + b"body"
    assert decode_request_header(frame).body_position == len(frame) - 4


def test_a_header_may_start_anywhere():
    frame = b"xxxx" + encode_request_header(METADATA, 12, 77, "tool")
    assert decode_request_header(memoryview(frame), 4) == RequestHeader(METADATA, 12, 77, "tool", len(frame))


@pytest.mark.parametrize("key", [-1, 52, 59, 62, 70, 99])
def test_an_api_key_of_no_zookeeper_mode_broker_is_refused(key: int):
    frame = key.to_bytes(2, "big", signed=True) + bytes(10)
    with pytest.raises(DecodeError, match=f"Unknown API key {key}") as caught:
        decode_request_header(frame)
    assert caught.value.code is ErrorCode.INVALID_REQUEST


def test_a_client_id_longer_than_the_frame_is_refused():
    with pytest.raises(DecodeError):
        decode_request_header(bytes.fromhex("000300010000000100ff61"))


def test_a_client_id_that_is_not_utf8_is_taken_with_replacement_characters():
    assert decode_request_header(bytes.fromhex("000300010000000100026bfc")).client_id == "k\ufffd"


@pytest.mark.parametrize(("api_version", "flexible"), [(8, False), (9, True)])
def test_a_response_header_has_tags_where_the_body_is_flexible(api_version: int, flexible: bool):
    assert response_header_is_flexible(METADATA, api_version) is flexible
    assert encode_response_header(-2, flexible) == b"\xff\xff\xff\xfe" + b"\0" * flexible
    assert decode_response_header(encode_response_header(-2, flexible) + b"body", flexible) == (-2, 4 + flexible)


def test_an_api_versions_response_never_has_tags_in_its_header():
    assert not any(response_header_is_flexible(API_VERSIONS, version) for version in range(5))
