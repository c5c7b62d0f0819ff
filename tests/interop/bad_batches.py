"""Batches of every format and codec with one thing wrong: a bit of a header, of a record or of what is compressed, a
length or a count that lies."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kafka_zk.record.batch import CRC_AT, CRC_FROM, HEADER_SIZE
from kafka_zk.record.builder import build_batch
from kafka_zk.record.compression import Codec
from kafka_zk.record.crc import crc32c
from kafka_zk.record.legacy import build_message_set
from kafka_zk.record.types import Record

LEGACY_HEADER_SIZES = {0: 18, 1: 26}
SHORTEST_IN_JAVA = {0: 0, 1: 22, 2: 49}
"""Below that its parsing meets the end of a buffer, not a check."""
LEGACY_CRC_AT, LEGACY_CRC_FROM = 12, 16
LENGTH_AT = 8
LAST_OFFSET_DELTA_AT, COUNT_AT = 23, 57
SIZES = (-(1 << 31), -1, 0, 1, 13, *range(14, 23), 48, 49, 50, 1000, 1 << 20, (1 << 31) - 1)


class Bad(NamedTuple):
    """`data` is what goes into a produce request; `name` says what is wrong with it."""

    name: str
    data: bytes
    is_of_content: bool = False
    """Its header is as good as its bytes; what is behind the header is not."""
    trips_java: bool = False
    """Its length is one at which Java's arithmetic or the end of a buffer fails."""


@dataclass(frozen=True)
class Format:
    """One way to write a batch, with its own partition so that what is accepted meets no other."""

    magic: int
    codec: Codec

    @property
    def name(self) -> str:
        return f"v{self.magic} {self.codec.name.lower()}"

    @property
    def produce_version(self) -> int:
        return 9 if self.magic == 2 else 2

    @property
    def header_size(self) -> int:
        return HEADER_SIZE if self.magic == 2 else LEGACY_HEADER_SIZES[self.magic]

    def good(self, now_ms: int) -> bytes:
        records = [Record(number, now_ms + number, b"key", b"value %d " % number * 4) for number in range(3)]
        if self.magic == 2:
            return bytes(build_batch(records, codec=self.codec))
        return bytes(build_message_set(records, magic=self.magic, codec=self.codec))

    def mended(self, data: bytes) -> bytes:
        """With the crc that its bytes ask for."""
        at, crc = (CRC_AT, crc32c(data[CRC_FROM:])) if self.magic == 2 else (LEGACY_CRC_AT, self._legacy_crc(data))
        return data[:at] + crc.to_bytes(4) + data[at + 4 :]

    def _legacy_crc(self, data: bytes) -> int:
        """Of the first message."""
        size = int.from_bytes(data[LENGTH_AT : LENGTH_AT + 4], signed=True)
        end = LENGTH_AT + 4 + size if LEGACY_CRC_FROM <= LENGTH_AT + 4 + size <= len(data) else len(data)
        return zlib.crc32(data[LEGACY_CRC_FROM:end])


FORMATS = (
    *(Format(2, codec) for codec in Codec),
    *(Format(magic, codec) for magic in (1, 0) for codec in Codec if codec is not Codec.ZSTD),
)


def bad_batches(made: Format, now_ms: int) -> Iterator[Bad]:
    """Everything that is tried of one format."""
    good = made.good(now_ms)
    for at in range(made.header_size):
        for bit in range(8):
            data = _with_flipped(good, at, bit)
            yield Bad(f"bit {bit} of byte {at}", data)
            yield Bad(f"bit {bit} of byte {at}, crc mended", made.mended(data), trips_java=_is_short_head(made, data))
    for at in range(made.header_size, min(len(good), made.header_size + 40)):
        for bit in (0, 3, 7):
            yield Bad(f"bit {bit} of content byte {at}, crc mended", made.mended(_with_flipped(good, at, bit)), True)
    if made.magic == 2:
        overlong = good[: made.header_size] + b"\xff" * 10 + good[made.header_size + 10 :]
        yield Bad("a varint of more than ten bytes", made.mended(overlong), True)
    for size in SIZES:
        overflows = size + 12 >= 1 << 31
        yield Bad(f"length {size}", _with_int(good, LENGTH_AT, size), trips_java=overflows)
        data = made.mended(_with_int(good, LENGTH_AT, size))
        yield Bad(f"length {size}, crc mended", data, trips_java=overflows or _is_short_head(made, data))
        if made.magic == 2:
            yield Bad(f"count {size}", made.mended(_with_int(good, COUNT_AT, size)))
            yield Bad(f"last offset delta {size}", made.mended(_with_int(good, LAST_OFFSET_DELTA_AT, size)))
    for cut in range(1, len(good), 3):
        yield Bad(f"{cut} bytes cut off", good[:-cut])
        length = len(good) - cut - 12
        shorter = made.mended(_with_int(good, LENGTH_AT, length)[:-cut])
        if len(shorter) >= LEGACY_HEADER_SIZES[0] + 8:
            is_short = _is_short_head(made, shorter)
            yield Bad(f"{cut} bytes cut off, length and crc mended", shorter, True, trips_java=is_short)
    longer = _with_int(good, LENGTH_AT, len(good) + 3 - 12) + b"\x00\x00\x00"
    yield Bad("3 bytes more, length and crc mended", made.mended(longer), True)
    yield Bad("3 bytes behind it", good + b"\x00\x00\x00")
    yield Bad("a second one behind it", good + good)
    yield Bad("no bytes", b"")


def _is_short_head(made: Format, data: bytes) -> bool:
    """Whether the length ends within the first head: what Java says then depends on the bytes behind it."""
    return 0 <= int.from_bytes(data[LENGTH_AT : LENGTH_AT + 4], signed=True) < SHORTEST_IN_JAVA[made.magic]


def _with_flipped(data: bytes, at: int, bit: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def _with_int(data: bytes, at: int, value: int) -> bytes:
    return data[:at] + value.to_bytes(4, signed=True) + data[at + 4 :]
