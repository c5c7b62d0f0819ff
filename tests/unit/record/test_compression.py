"""The codecs: what they write, what they must read, and what they refuse."""

from __future__ import annotations

import contextlib
import gzip
import struct
import tracemalloc

import lz4.frame
import pytest
import snappy
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_zk.protocol.errors import BrokerError, InvalidRecord, UnknownServerError
from kafka_zk.record.compression import Codec, TooMuchToDecompress, codec_for_id, lz4_header, mend_lz4_header
from kafka_zk.record.xxh32 import xxh32

REAL = [codec for codec in Codec if codec]
TEXT = b"".join(b"word%d " % (number % 97) for number in range(20_000))  # 130 KB: several blocks of each codec


@pytest.mark.parametrize("codec", list(Codec))
@given(data=st.binary(max_size=300) | st.just(TEXT) | st.just(bytes(200_000)))
@settings(max_examples=30)
def test_what_is_compressed_decompresses(codec: Codec, data: bytes) -> None:
    assert codec.decompress(codec.compress(data)) == data
    assert codec.decompress(memoryview(codec.compress(bytearray(data)))) == data


@pytest.mark.parametrize(
    "codec, levels", [(Codec.GZIP, (1, 9)), (Codec.LZ4, (1, 2, 8, 12, 17)), (Codec.ZSTD, (-5, 1, 22))]
)
def test_levels_change_the_size_only(codec: Codec, levels: tuple[int, ...]) -> None:
    packed = [codec.compress(TEXT, level) for level in levels]
    assert all(codec.decompress(each) == TEXT for each in packed)
    assert len(packed[-1]) <= len(packed[0])


def test_snappy_comes_in_xerial_chunks_of_32_kib() -> None:
    packed = Codec.SNAPPY.compress(TEXT)
    assert packed.startswith(b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01")
    sizes, position = [], 16
    while position < len(packed):
        (size,) = struct.unpack_from(">i", packed, position)
        sizes.append(len(snappy.decompress(packed[position + 4 : position + 4 + size])))
        position += 4 + size
    assert sizes[:-1] == [32768] * (len(TEXT) // 32768)


def test_lz4_blocks_are_independent_and_a_stored_one_is_flagged() -> None:
    incompressible = bytes((index * index * 31 + index // 7) % 251 for index in range(70_000))
    assert Codec.LZ4.compress(b"x").hex() == "04224d18604082" + "01000080" + "78" + "00000000"
    for data in (TEXT, incompressible):
        info = lz4.frame.get_frame_info(Codec.LZ4.compress(data))
        assert (info["block_linked"], info["content_checksum"], info["block_checksum"]) == (False, False, False)
        assert (info["content_size"], info["block_size"]) == (0, 65536)


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("checksums", [True, False])
@pytest.mark.parametrize("store_size", [True, False])
def test_any_lz4_frame_flags_are_read(linked: bool, checksums: bool, store_size: bool) -> None:
    packed = lz4.frame.compress(
        TEXT, block_linked=linked, content_checksum=checksums, block_checksum=checksums, store_size=store_size
    )
    assert Codec.LZ4.decompress(packed) == TEXT


def test_snappy_is_read_without_xerial_framing() -> None:
    assert Codec.SNAPPY.decompress(snappy.compress(TEXT)) == TEXT


def test_gzip_members_and_zstd_frames_may_follow_one_another() -> None:
    assert Codec.GZIP.decompress(gzip.compress(b"one") + gzip.compress(b"two")) == b"onetwo"
    assert Codec.ZSTD.decompress(zstandard.compress(b"one") + Codec.ZSTD.compress(TEXT)) == b"one" + TEXT


def test_what_follows_a_gzip_member_or_an_lz4_frame_is_ignored() -> None:
    for codec in (Codec.GZIP, Codec.LZ4):
        assert codec.decompress(codec.compress(TEXT) + b"trash") == TEXT


def test_gzip_with_a_name_and_a_time_is_read() -> None:
    with_name = gzip.compress(b"data", mtime=5)
    assert Codec.GZIP.decompress(with_name) == b"data"


def test_zstd_with_a_checksum_is_read_and_checked() -> None:
    packed = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(TEXT))
    assert Codec.ZSTD.decompress(packed) == TEXT
    packed[-1] ^= 1
    with pytest.raises(UnknownServerError):
        Codec.ZSTD.decompress(packed)


@pytest.mark.parametrize("codec", REAL)
def test_the_limit_is_exact(codec: Codec) -> None:
    packed = codec.compress(TEXT)
    assert codec.decompress(packed, len(TEXT)) == TEXT
    with pytest.raises(InvalidRecord, match="when decompressed"):
        codec.decompress(packed, len(TEXT) - 1)


def bomb(codec: Codec) -> bytes:
    zeros = bytes(64 * 1024 * 1024)
    if codec is Codec.SNAPPY:
        return b"\xff\xff\xff\xff\x0f" + b"\xfe\x01\x00" * 100  # claims 4 GiB
    return codec.compress(zeros)


@pytest.mark.parametrize("codec", REAL)
def test_a_bomb_is_stopped_at_the_limit(codec: Codec) -> None:
    packed = bomb(codec)
    assert len(packed) < 400_000
    with pytest.raises(InvalidRecord, match="more than 1000000 bytes when decompressed"):
        codec.decompress(packed, 1_000_000)


@pytest.mark.parametrize("before", [b"", zstandard.compress(b"one")])
def test_a_zstd_bomb_is_seen_before_much_of_it_is_made(before: bytes) -> None:
    packed = before + bomb(Codec.ZSTD)
    tracemalloc.start()
    try:
        with pytest.raises(TooMuchToDecompress):
            Codec.ZSTD.decompress(packed, 1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("codec", REAL)
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_truncated_payload_is_refused(codec: Codec, part: float) -> None:
    packed = codec.compress(TEXT)
    with pytest.raises(UnknownServerError, match="Failed to decompress record stream"):
        codec.decompress(packed[: int(len(packed) * part)])


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_the_last_byte_counts(codec: Codec) -> None:
    with pytest.raises(UnknownServerError):
        codec.decompress(codec.compress(TEXT)[:-1])


@pytest.mark.parametrize("codec", REAL)
@given(data=st.binary(max_size=80), flips=st.lists(st.integers(0, 10_000), max_size=3))
def test_bad_bytes_raise_broker_errors_only(codec: Codec, data: bytes, flips: list[int]) -> None:
    packed = bytearray(codec.compress(data))
    for flip in flips:
        packed[flip % len(packed)] ^= 1 + flip % 255
    for candidate in (bytes(packed), data):
        with contextlib.suppress(BrokerError):
            codec.decompress(candidate, 1_000_000)


def test_a_codec_id_that_does_not_exist_is_refused() -> None:
    assert codec_for_id(4) is Codec.ZSTD
    with pytest.raises(UnknownServerError, match="Unknown compression type id: 5"):
        codec_for_id(5)


@pytest.mark.parametrize(
    "data, digest", [(b"", 0x02CC5D05), (b"a", 0x550D7456), (b"abc", 0x32D153FF), (b"0123456789abcdef", 0xC2C45B69)]
)
def test_xxh32_has_the_digests_of_its_specification(data: bytes, digest: int) -> None:
    assert xxh32(data) == digest


def test_the_lz4_header_of_magic_0_has_kafkas_wrong_checksum_and_readers_mend_it() -> None:
    assert lz4_header().hex() == "04224d18604082"
    broken = lz4_header(broken_checksum=True)
    assert broken.hex() == "04224d1860401a"
    assert mend_lz4_header(broken + b"rest") == lz4_header() + b"rest"
    sized = lz4.frame.compress(b"data", store_size=True)
    broken_sized = sized[:14] + bytes((sized[14] ^ 0xFF,)) + sized[15:]
    assert mend_lz4_header(broken_sized) == sized
    assert mend_lz4_header(b"short") == b"short"
