"""MultiRead's bytes, as ZooKeeper 3.8.4 took and sent them, and how many znodes a request asks for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kafka_zk.zk.multi_read import (
    FIRST_COUNT,
    MOST_COUNT,
    REQUEST_BYTES,
    RESPONSE_BYTES,
    Read,
    Result,
    decode,
    encode,
    next_count,
    portions,
)
from kafka_zk.zk.operations import Stat

NO_NODE, NO_AUTH = -101, -102

DATA_PATHS = ["/data", "/missing", "/empty", "/hidden", "/null"]
DATA_REQUEST = bytes.fromhex(
    "0000000400ffffffff000000052f6461746100"
    "0000000400ffffffff000000082f6d697373696e6700"
    "0000000400ffffffff000000062f656d70747900"
    "0000000400ffffffff000000072f68696464656e00"
    "0000000400ffffffff000000052f6e756c6c00"
    "ffffffff01ffffffff"
)
DATA_RESPONSE = bytes.fromhex(
    "000000040000000000"
    "0000000d7b2276657273696f6e223a317d"
    "00000000000000020000000000000002000001a2234f291d000001a2234f291d000000000000000100000000"
    "00000000000000000000000d000000010000000000000006"
    "ffffffff00ffffff9bffffff9b"
    "000000040000000000"
    "00000000"
    "00000000000000030000000000000003000001a2234f293c000001a2234f293c000000000000000000000000"
    "000000000000000000000000000000000000000000000003"
    "ffffffff00ffffff9affffff9a"
    "000000040000000000"
    "ffffffff"
    "00000000000000040000000000000004000001a2234f293e000001a2234f293e000000000000000000000000"
    "000000000000000000000000000000000000000000000004"
    "ffffffff01ffffffff"
)
DATA_RESULTS: list[Result] = [
    (b'{"version":1}', Stat(2, 2, 1795888720157, 1795888720157, 0, 1, 0, 0, 13, 1, 6)),
    NO_NODE,
    (b"", Stat(3, 3, 1795888720188, 1795888720188, 0, 0, 0, 0, 0, 0, 3)),
    NO_AUTH,
    (None, Stat(4, 4, 1795888720190, 1795888720190, 0, 0, 0, 0, 0, 0, 4)),
]

CHILDREN_PATHS = ["/", "/missing", "/data", "/empty"]
CHILDREN_REQUEST = bytes.fromhex(
    "0000000800ffffffff000000012f00"
    "0000000800ffffffff000000082f6d697373696e6700"
    "0000000800ffffffff000000052f6461746100"
    "0000000800ffffffff000000062f656d70747900"
    "ffffffff01ffffffff"
)
CHILDREN_RESPONSE = bytes.fromhex(
    "000000080000000000"
    "00000005"
    "000000097a6f6f6b6565706572"
    "0000000464617461"
    "000000046e756c6c"
    "0000000668696464656e"
    "00000005656d707479"
    "ffffffff00ffffff9bffffff9b"
    "000000080000000000"
    "00000001"
    "000000056368696c64"
    "000000080000000000"
    "00000000"
    "ffffffff01ffffffff"
)
CHILDREN_RESULTS: list[Result] = [["zookeeper", "data", "null", "hidden", "empty"], NO_NODE, ["child"], []]

RECORDED = [
    (Read.DATA, DATA_PATHS, DATA_REQUEST, DATA_RESPONSE, DATA_RESULTS),
    (Read.CHILDREN, CHILDREN_PATHS, CHILDREN_REQUEST, CHILDREN_RESPONSE, CHILDREN_RESULTS),
]


@pytest.mark.parametrize(("read", "paths", "request_", "response", "results"), RECORDED)
def test_the_bytes_are_those_of_zookeeper(
    read: Read, paths: list[str], request_: bytes, response: bytes, results: list[Result]
) -> None:
    assert encode(read, paths) == request_
    assert decode(response, read) == results


@pytest.mark.parametrize(("read", "paths", "request_", "response", "results"), RECORDED)
def test_a_response_that_ends_early_or_late_is_refused(
    read: Read, paths: list[str], request_: bytes, response: bytes, results: list[Result]
) -> None:
    for size in range(len(response)):
        with pytest.raises(ValueError, match="ends early"):
            decode(response[:size], read)
    with pytest.raises(ValueError, match="1 bytes follow"):
        decode(response + b"\0", read)


def test_results_of_another_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="a result of type 8 for a read of type 4"):
        decode(CHILDREN_RESPONSE, Read.DATA)


def data_of(*sizes: int) -> Sequence[Result]:
    return [(b"x" * size, Stat(1, 1, 0, 0, 0, 0, 0, 0, size, 0, 1)) for size in sizes]


def test_the_next_request_asks_for_as_many_as_come_to_the_wanted_size() -> None:
    assert next_count(data_of(100, 100)) == MOST_COUNT
    assert next_count(data_of(1000, 3000)) == RESPONSE_BYTES // (2000 + 81)
    assert next_count(data_of(RESPONSE_BYTES)) == 1
    assert next_count([["x" * 996] * 20]) == RESPONSE_BYTES // (20_000 + 81)
    assert next_count([NO_NODE] * FIRST_COUNT) == MOST_COUNT


def test_a_request_has_so_many_paths_and_so_many_bytes_at_most() -> None:
    short = [f"/{number}" for number in range(10)]
    assert list(portions(short, 4, chroot="")) == [short[:4], short[4:8], short[8:]]
    long = [f"/{number}/{'é' * 2000}" for number in range(10)]
    assert list(portions(long, 100, chroot="")) == [long[:4], long[4:8], long[8:]]
    assert all(len(encode(Read.DATA, some)) <= REQUEST_BYTES + 9 for some in portions(long, 100, chroot=""))
    assert list(portions(long, 100, chroot="/" + "c" * 1500)) == [long[:2], long[2:4], long[4:6], long[6:8], long[8:]]
    huge = ["/" + "x" * REQUEST_BYTES, "/y"]
    assert list(portions(huge, 100, chroot="")) == [huge[:1], huge[1:]]
    assert list(portions([], 100, chroot="")) == []
