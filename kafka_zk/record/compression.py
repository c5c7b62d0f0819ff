"""The compression codecs of batches, with Kafka's framing.

Role        Pure (no clock, no I/O). Each library is imported on first use; both directions release the GIL there.
Writes      What the Java client writes: gzip one member without name or time; snappy in xerial chunks of 32 KiB;
            lz4 frames of independent 64 KiB blocks without checksums; zstd one frame without content size.
Reads       Every legal framing of the codec: gzip members and zstd frames one after another, any lz4 frame flags,
            snappy with xerial framing or bare. The output never grows past a limit, whatever the input claims.
Source      Kafka 3.9 org.apache.kafka.common.compress, snappy-java's SnappyOutputStream.
"""

from __future__ import annotations

import struct
import zlib
from collections import deque
from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING

from kafka_zk.protocol.errors import InvalidRecord, UnknownServerError
from kafka_zk.record.types import Buffer
from kafka_zk.record.xxh32 import xxh32

if TYPE_CHECKING:
    import zstandard

# Above this a payload is taken for a decompression bomb. Kafka streams and has no limit; here the payload is whole
# in memory. A broker takes batches of 1 MiB unless told otherwise.
DEFAULT_LIMIT_BYTES = 256 * 1024 * 1024

RECORD_OBJECT_BYTES = 256

_FAILED = "Failed to decompress record stream"


class TooMuchToDecompress(InvalidRecord):
    """The result does not fit into the limit of the caller, who may allow more elsewhere."""


class Codec(IntEnum):
    """The codec in bits 0-2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    def compress(self, data: Buffer, level: int | None = None) -> bytes:
        """`data` framed as the Java client does; level None is Kafka's default. For a large input use a pool."""
        match self:
            case Codec.GZIP:
                return _gzip_compress(data, -1 if level is None else level)
            case Codec.SNAPPY:
                return _snappy_compress(data)
            case Codec.LZ4:
                return _lz4_compress(data, LZ4_DEFAULT_LEVEL if level is None else level)
            case Codec.ZSTD:
                return _zstd_compress(data, ZSTD_DEFAULT_LEVEL if level is None else level)
            case Codec.NONE:
                return bytes(data)

    def decompress(self, data: Buffer, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> Buffer:
        """The plain payload; `data` itself for NONE.

        Raises TooMuchToDecompress when it would pass `limit_bytes` (for zstd already when it might, under a limit below
        64 MiB), and UnknownServerError (as Kafka answers) when `data` is not what the codec writes.
        """
        match self:
            case Codec.GZIP:
                return _gzip_decompress(data, limit_bytes)
            case Codec.SNAPPY:
                return _snappy_decompress(data, limit_bytes)
            case Codec.LZ4:
                return _lz4_decompress(data, limit_bytes)
            case Codec.ZSTD:
                return _zstd_decompress(data, limit_bytes)
            case Codec.NONE:
                return data


def check_record_count(count: int, limit_bytes: int) -> None:
    """Raises TooMuchToDecompress for more records than may become objects, each a hundred times its bytes."""
    limit = limit_bytes // RECORD_OBJECT_BYTES
    if count > limit:
        raise TooMuchToDecompress(f"The batch has {count} records, more than the limit of {limit}")


def codec_for_id(codec_id: int) -> Codec:
    """The codec of the attribute bits. Raises UnknownServerError for 5 to 7, as Kafka answers."""
    try:
        return Codec(codec_id)
    except ValueError:
        raise UnknownServerError(f"Unknown compression type id: {codec_id}") from None


def _step(data: Buffer) -> int:
    """Bytes to decompress at a time: usually everything, and never far more memory than the result needs."""
    return max(64 * 1024, 8 * len(data))


def _too_large(limit_bytes: int) -> TooMuchToDecompress:
    return TooMuchToDecompress(f"The records of the batch take more than {limit_bytes} bytes when decompressed")


# gzip -----------------------------------------------------------------------------------------------------------------

_GZIP_MAGIC = b"\x1f\x8b\x08"
GZIP_HEADER = bytes.fromhex("1f8b08000000000000ff")  # deflate, no flags, no time, no extra flags, unknown system


def _gzip_compress(data: Buffer, level: int) -> bytes:
    deflate = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    trailer = struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)
    return b"".join((GZIP_HEADER, deflate.compress(data), deflate.flush(), trailer))


def _gzip_decompress(data: Buffer, limit_bytes: int) -> bytes:
    parts: list[bytes] = []
    left_bytes = limit_bytes
    rest = data
    try:
        while True:
            inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
            part = inflate.decompress(rest, left_bytes + 1)
            if len(part) > left_bytes:
                raise _too_large(limit_bytes)
            if not inflate.eof:
                raise UnknownServerError(_FAILED)
            parts.append(part)
            left_bytes -= len(part)
            rest = inflate.unused_data
            if not rest.startswith(_GZIP_MAGIC):  # what is not another member is ignored, as Java does
                return parts[0] if len(parts) == 1 else b"".join(parts)
    except zlib.error as error:
        raise UnknownServerError(_FAILED) from error


# snappy ---------------------------------------------------------------------------------------------------------------

XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEADER = XERIAL_MAGIC + struct.pack(">ii", 1, 1)
SNAPPY_CHUNK_SIZE = 32 * 1024
_INT32 = struct.Struct(">i")


def _snappy_compress(data: Buffer) -> bytes:
    import snappy

    view = memoryview(data)
    parts = [XERIAL_HEADER]
    for start in range(0, len(view), SNAPPY_CHUNK_SIZE):
        chunk = snappy.compress(view[start : start + SNAPPY_CHUNK_SIZE])
        parts.append(_INT32.pack(len(chunk)))
        parts.append(chunk)
    return b"".join(parts)


def _snappy_decompress(data: Buffer, limit_bytes: int) -> bytes:
    import snappy

    left_bytes = limit_bytes
    parts: list[bytes] = []
    try:
        for chunk in _snappy_chunks(memoryview(data)):
            left_bytes -= _snappy_size(chunk)
            if left_bytes < 0:
                raise _too_large(limit_bytes)
            parts.append(snappy.decompress(chunk))
    except snappy.UncompressError as error:
        raise UnknownServerError(_FAILED) from error
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _snappy_chunks(view: memoryview) -> Iterator[memoryview]:
    if bytes(view[:8]) != XERIAL_MAGIC:
        yield view
        return
    position = len(XERIAL_HEADER)
    if len(view) < position:
        raise UnknownServerError(_FAILED)
    while position < len(view):
        # snappy-java lets whole streams follow one another.
        if bytes(view[position : position + 8]) == XERIAL_MAGIC:
            position += len(XERIAL_HEADER)
            continue
        if len(view) - position < 4:
            raise UnknownServerError(_FAILED)
        size = _INT32.unpack_from(view, position)[0]
        position += 4
        if not 0 <= size <= len(view) - position:
            raise UnknownServerError(_FAILED)
        yield view[position : position + size]
        position += size


def _snappy_size(chunk: memoryview) -> int:
    """The size that a raw snappy block states in a varint at its start; its decoder never writes more than that."""
    size = shift = 0
    for byte in chunk[:5]:
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            return size
        shift += 7
    raise UnknownServerError(_FAILED)


# lz4 ------------------------------------------------------------------------------------------------------------------

LZ4_MAGIC = bytes.fromhex("04224d18")
LZ4_DESCRIPTOR = bytes.fromhex("6040")  # version 1, independent blocks, nothing else; blocks of at most 64 KiB
LZ4_BLOCK_SIZE = 64 * 1024
LZ4_DEFAULT_LEVEL = 9  # Kafka's 9 is the fast compressor; every other level is the high compression one
_LZ4_STORED = 0x80000000
_UINT32_LE = struct.Struct("<I")


def lz4_header(*, broken_checksum: bool = False) -> bytes:
    """The frame header that Kafka writes. Under magic 0 its checksum wrongly covers the frame's magic too."""
    covered = LZ4_MAGIC + LZ4_DESCRIPTOR if broken_checksum else LZ4_DESCRIPTOR
    return LZ4_MAGIC + LZ4_DESCRIPTOR + bytes(((xxh32(covered) >> 8) & 0xFF,))


_LZ4_HEADER = lz4_header()


def _lz4_compress(data: Buffer, level: int) -> bytes:
    if level != LZ4_DEFAULT_LEVEL:
        return _lz4_compress_high(data, level)
    import lz4.frame

    frame: bytes = lz4.frame.compress(
        data, block_size=lz4.frame.BLOCKSIZE_MAX64KB, block_linked=False, content_checksum=False, store_size=False
    )
    return frame


def _lz4_compress_high(data: Buffer, level: int) -> bytes:
    import lz4.block  # the frame interface has no high compression below level 3

    view = memoryview(data)
    parts = [_LZ4_HEADER]
    for start in range(0, len(view), LZ4_BLOCK_SIZE):
        block = view[start : start + LZ4_BLOCK_SIZE]
        packed = lz4.block.compress(block, mode="high_compression", compression=level, store_size=False)
        if len(packed) < len(block):
            parts += (_UINT32_LE.pack(len(packed)), packed)
        else:
            parts += (_UINT32_LE.pack(len(block) | _LZ4_STORED), bytes(block))
    parts.append(b"\0\0\0\0")
    return b"".join(parts)


def _lz4_decompress(data: Buffer, limit_bytes: int) -> bytes:
    """The first frame only; what follows it is ignored, as Java does."""
    import lz4.frame

    parts: list[bytes] = []
    left_bytes = limit_bytes
    frame = lz4.frame.LZ4FrameDecompressor()
    source: Buffer = data
    try:
        while not frame.eof:
            part: bytes = frame.decompress(source, max_length=min(left_bytes + 1, _step(data)))
            if not part and frame.needs_input and not frame.eof:
                raise UnknownServerError(_FAILED)
            source = b""
            parts.append(part)
            left_bytes -= len(part)
            if left_bytes < 0:
                raise _too_large(limit_bytes)
    except RuntimeError as error:
        raise UnknownServerError(_FAILED) from error
    return parts[0] if len(parts) == 1 else b"".join(parts)


def mend_lz4_header(data: Buffer) -> bytes:
    """`data` with the header checksum that its descriptor should have.

    Writers of magic 0 sets are known to store a wrong one, so readers of magic 0 ignore it.
    """
    frame = bytearray(data)
    if len(frame) < 7 or frame[:4] != LZ4_MAGIC:
        return bytes(frame)
    end = 6 + (8 if frame[4] & 0x08 else 0) + (4 if frame[4] & 0x01 else 0)  # content size, dictionary id
    if len(frame) > end:
        frame[end] = (xxh32(bytes(frame[4:end])) >> 8) & 0xFF
    return bytes(frame)


# zstd -----------------------------------------------------------------------------------------------------------------

ZSTD_DEFAULT_LEVEL = 3
# Fed in pieces of this size a frame can grow by at most 64 MiB (blocks of 4 bytes that represent 128 KiB) before the
# limit is looked at; the library has no limit of its own for frames that do not tell their size.
_ZSTD_PIECE_SIZE = 2048
_ZSTD_GROWTH_PER_PIECE = 64 * 1024 * 1024
_ZSTD_BLOCK_SIZE = 128 * 1024  # the most that one block can stand for
_ZSTD_FEW_BLOCKS = 8
_ZSTD_BLOCK_HEADER_SIZE = 3
_ZSTD_RLE = 1
# The library's contexts are costly to make and may serve one thread at a time; deque operations are atomic.
_idle_zstd_compressors: dict[int, deque[zstandard.ZstdCompressor]] = {}
_idle_zstd_decompressors: deque[zstandard.ZstdDecompressor] = deque(maxlen=8)


def _zstd_compress(data: Buffer, level: int) -> bytes:
    import zstandard

    idle = _idle_zstd_compressors.setdefault(level, deque(maxlen=8))
    try:
        compressor = idle.pop()
    except IndexError:
        compressor = zstandard.ZstdCompressor(level=level, write_content_size=False)
    # As the Java client streams it: the size is not known beforehand, the last block with data is flushed, and an
    # empty one ends the frame.
    stream = compressor.compressobj()
    packed = stream.compress(data) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) + stream.flush()
    idle.append(compressor)
    return packed


def _zstd_may_pass(view: memoryview, position: int, limit_bytes: int) -> bool:
    """Whether there are more blocks from `position` on, in this frame or behind it, than surely fit."""
    size = len(view)
    blocks_left = max(_ZSTD_FEW_BLOCKS, limit_bytes // _ZSTD_BLOCK_SIZE)
    while (size - position) // _ZSTD_BLOCK_HEADER_SIZE > blocks_left:
        header = view[position] | view[position + 1] << 8 | view[position + 2] << 16
        position += _ZSTD_BLOCK_HEADER_SIZE + (1 if header >> 1 & 3 == _ZSTD_RLE else header >> 3)
        blocks_left -= 1
        if blocks_left < 0 or header & 1:
            return (size - position) // _ZSTD_BLOCK_HEADER_SIZE > blocks_left
    return False


def _zstd_decompress(data: Buffer, limit_bytes: int) -> bytes:
    import zstandard

    try:
        decompressor = _idle_zstd_decompressors.pop()
    except IndexError:
        decompressor = zstandard.ZstdDecompressor()
    view = memoryview(data)
    parts: list[bytes] = []
    left_bytes = limit_bytes
    position = 0
    try:
        if limit_bytes < _ZSTD_GROWTH_PER_PIECE and _zstd_may_pass(
            view, zstandard.frame_header_size(view), limit_bytes
        ):
            raise _too_large(limit_bytes)
        while position < len(view):
            frame = decompressor.decompressobj()
            while not frame.eof:
                if position >= len(view):
                    raise UnknownServerError(_FAILED)
                size = max(1, left_bytes // _ZSTD_GROWTH_PER_PIECE) * _ZSTD_PIECE_SIZE
                part = frame.decompress(view[position : position + size])
                position += size
                parts.append(part)
                left_bytes -= len(part)
                if left_bytes < 0:
                    raise _too_large(limit_bytes)
            position = min(position, len(view)) - len(frame.unused_data)
    except zstandard.ZstdError as error:
        raise UnknownServerError(_FAILED) from error
    _idle_zstd_decompressors.append(decompressor)
    return parts[0] if len(parts) == 1 else b"".join(parts)
