"""Functions that compiled codecs call: variable-length integers, unknown tags, arrays of numbers.

Role        The few loops that generated code does not write out. Nothing here knows a message.
Invariants  Reading past the end raises IndexError or struct.error, which the generated decoder turns into
            DecodeError; sizes are checked before anything is allocated.
Source      Kafka 3.9 ByteUtils.readUnsignedVarint, Readable.readUnknownTaggedField; MessageDataGenerator's checks.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack
from typing import Any

from kafka_zk.protocol.errors import DecodeError, EncodeError
from kafka_zk.protocol.types import Buffer

MAX_STRING_BYTES = 0x7FFF
PART_BYTES = 256 * 1024
"""The size of the parts that are encoded in turns, so that nothing large is copied in one go."""

_REMEMBERED_COUNT = 64


class TooLargeToWrite(EncodeError):
    """The encoded message has grown beyond what the caller was ready to send."""


def size_error() -> TooLargeToWrite:
    return TooLargeToWrite("this is more than may be sent at once")


def rest_of_uvarint(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """Finish an unsigned varint whose first byte was `first` (128 or more) and lies before `position`."""
    value = first & 0x7F
    for shift in (7, 14, 21, 28):
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            # Java keeps 32 bits and reads a set sign bit as a negative length; a peer that sends it is broken.
            if value > 0x7FFFFFFF:
                raise DecodeError(f"Varint {value} is larger than 2147483647")
            return value, position
    raise DecodeError("Varint is too long, the most significant bit in the 5th byte is set")


def read_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    """The unsigned varint at `position` and the position after it."""
    first = buffer[position]
    return (first, position + 1) if first < 0x80 else rest_of_uvarint(buffer, position + 1, first)


def rest_of_string_length(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """`rest_of_uvarint` for a compact string, which may not be longer than in the old encoding."""
    length, position = rest_of_uvarint(buffer, position, first)
    if length > MAX_STRING_BYTES + 1:
        raise DecodeError(f"String has invalid length {length - 1}")
    return length, position


def skip_tags(buffer: Buffer, position: int, first: int) -> int:
    """Skip a tag section without known tags; `first` is the (non-zero) byte before `position`."""
    count = first
    if first > 0x7F:
        count, position = rest_of_uvarint(buffer, position, first)
    for _ in range(count):
        _, position = read_uvarint(buffer, position)
        size, position = read_uvarint(buffer, position)
        position += size
    return position


def null_error(name: str) -> DecodeError:
    return DecodeError(f"Non-nullable field {name} was serialized as null")


def count_error(count: int, remaining: int) -> DecodeError:
    return DecodeError(
        f"Tried to allocate a collection of size {count}, but there are only {remaining} bytes remaining"
    )


def uvarint(value: int) -> bytes:
    """`value` as an unsigned varint."""
    if 0x4000 <= value < 0x200000:
        # The size of the records in nearly every fetch: 16 KiB to 2 MiB.
        return bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def string_length(value: int) -> bytes:
    """The compact length (plus one) of a string, which may not pass the old encoding's limit."""
    if value > MAX_STRING_BYTES + 1:
        raise TypeError(f"a string of {value - 1} bytes is too long to be serialized")
    return uvarint(value)


SMALL_UVARINTS = tuple(bytes((value,)) for value in range(128))


class Unpackers(dict[int, Callable[[Buffer, int], tuple[Any, ...]]]):
    """By count: the function that reads this many numbers of one width. Caches the small counts."""

    def __init__(self, fixed: str) -> None:
        super().__init__()
        self._fixed = fixed

    def __missing__(self, count: int) -> Callable[[Buffer, int], tuple[Any, ...]]:
        unpack: Callable[[Buffer, int], tuple[Any, ...]] = Struct(f">{count}{self._fixed}").unpack_from
        if count <= _REMEMBERED_COUNT:
            self[count] = unpack
        return unpack


class PackersByLength(dict[Any, Callable[..., bytes]]):
    """Pack functions for a run that contains arrays of numbers, by the tuple of their lengths (or the one length).

    `pieces` are the formats between the arrays: pieces[0], array, pieces[1], array, ... Each array's count is the
    argument before its numbers.
    """

    def __init__(self, pieces: tuple[str, ...], fixed: tuple[str, ...], *, compact: bool) -> None:
        super().__init__()
        self._pieces = pieces
        self._fixed = fixed
        self._compact = compact

    def __missing__(self, key: int | tuple[int, ...]) -> Callable[..., bytes]:
        lengths = key if isinstance(key, tuple) else (key,)
        if self._compact and max(lengths) > 126:
            return self._pack_long(lengths)
        count = "B" if self._compact else "i"
        arrays = [f"{count}{length}{fixed}" for length, fixed in zip(lengths, self._fixed, strict=True)]
        packer: Callable[..., bytes] = Struct(">" + _interleave(self._pieces, arrays)).pack
        if max(lengths) <= _REMEMBERED_COUNT and len(self) < 512:
            self[key] = packer
        return packer

    def _pack_long(self, lengths: tuple[int, ...]) -> Callable[..., bytes]:
        """Counts that need two bytes or more: replace them by their varints."""
        varints = [uvarint(length + 1) for length in lengths]
        arrays = [
            f"{len(varint)}s{length}{fixed}"
            for varint, length, fixed in zip(varints, lengths, self._fixed, strict=True)
        ]
        format = ">" + _interleave(self._pieces, arrays)
        count_at, position = [], 0
        for piece, length in zip(self._pieces, lengths, strict=False):
            position += len(piece.replace("16s", "s"))
            count_at.append(position)
            position += 1 + length

        def pack_long(*arguments: Any) -> bytes:
            replaced = list(arguments)
            for index, varint in zip(count_at, varints, strict=True):
                replaced[index] = varint
            return pack(format, *replaced)

        return pack_long


def _interleave(pieces: tuple[str, ...], arrays: list[str]) -> str:
    return pieces[0] + "".join(array + piece for array, piece in zip(arrays, pieces[1:], strict=True))
