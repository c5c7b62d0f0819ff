"""Down-conversion for old fetchers in a helper process, into a file in memory.

Role        Acts. Answers are slices of that file and leave by sendfile, as those of segments do.
Invariants  One request at a time; the others wait in order and hold only their slices.
            What was converted and is not sent yet stays near UNSENT_BYTES, however many clients do not read: the more
            of it there is, the less a request gets. A lone client gets all it asks for, each at least one batch.
            The memory is given back with the last slice of an answer, or when the waiting greenlet is killed.
Differs from Kafka: Kafka converts 128 KiB at a time while it sends; here it is done before the answer begins.
Source      Kafka 3.9 LazyDownConversionRecordsSend.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kafka_zk.log.files.down_conversion import ConversionCost, down_convert
from kafka_zk.log.helper.process import HelperProcess
from kafka_zk.log.helper.wire import Descriptor
from kafka_zk.log.segments.slice import FileSlice
from kafka_zk.log.turn import Turn
from kafka_zk.protocol.errors import BrokerError, KafkaStorageError, NotLeaderOrFollower

UNSENT_BYTES = 128 * 1024 * 1024
LEAST_BYTES = 64 * 1024
"""What a request gets when there is no memory left."""


class Stored(NamedTuple):
    """The slice of one partition to convert. The caller still owns the slice."""

    piece: FileSlice
    fetch_offset: int


class ConvertedSlice:
    """As a `FileSlice`, but of a file in memory: it can be neither cold nor truncated."""

    __slots__ = ("_file", "position", "size_bytes")

    is_cold = False
    is_intact = True

    def __init__(self, file: _MemoryFile, position: int, size_bytes: int) -> None:
        self._file = file
        self.position = position
        self.size_bytes = size_bytes
        file.retain()

    @property
    def fileno(self) -> int:
        return self._file.fileno

    def release(self) -> None:
        self._file.release()

    def read(self) -> bytes:
        return os.pread(self.fileno, self.size_bytes, self.position)

    def __repr__(self) -> str:
        return f"converted[{self.position}:{self.position + self.size_bytes}]"


class Converted(NamedTuple):
    """One partition's answer; None when there was no memory for more than the partitions before it."""

    piece: ConvertedSlice | None
    cost: ConversionCost


class DownConverter:
    """One for a broker. Its process starts on first use."""

    def __init__(self) -> None:
        self._helper = HelperProcess("down-conversion")
        self._turn = Turn()
        self.unsent_bytes = 0

    def convert(self, wanted: Sequence[Stored], *, magic: int) -> list[Converted | BrokerError]:
        """Blocks. Every partition's answer for a fetcher of `magic`, which the caller releases, or its error."""
        with self._turn:
            left = min(
                sum(each.piece.size_bytes for each in wanted), max((UNSENT_BYTES - self.unsent_bytes) // 2, LEAST_BYTES)
            )
            file = _MemoryFile(self._unsent)
            answers: list[Converted | BrokerError] = []
            try:
                for each in wanted:
                    answer = self._convert_one(each, magic, file, left) if left > 0 else _NOTHING
                    answers.append(answer)
                    if isinstance(answer, Converted):
                        left -= answer.cost.size_bytes
            except BaseException:
                # The waiting greenlets must learn of it, whatever ended this.
                for answer in answers:
                    if isinstance(answer, Converted) and answer.piece is not None:
                        answer.piece.release()
                raise
            finally:
                file.release()
            return answers

    def stop(self) -> None:
        """Blocks. Stop the helper; waiting callers get errors."""
        self._helper.stop()

    def _convert_one(self, wanted: Stored, magic: int, file: _MemoryFile, limit_bytes: int) -> Converted | BrokerError:
        piece = wanted.piece
        at = file.size_bytes
        try:
            cost = self._helper.call(
                down_convert,
                Descriptor(piece.fileno),
                piece.position,
                piece.size_bytes,
                Descriptor(file.fileno),
                at,
                magic,
                wanted.fetch_offset,
                limit_bytes,
            )
        except (BrokerError, OSError) as error:
            if isinstance(error, BrokerError) and piece.is_intact:
                return error
            if piece.is_intact:
                return KafkaStorageError(f"Error while converting {piece!r}: {error}")
        if not piece.is_intact:
            # Only replicas that do not lead are truncated: this was the wrong broker to ask.
            return NotLeaderOrFollower()
        file.grow(cost.size_bytes)
        return Converted(ConvertedSlice(file, at, cost.size_bytes), cost)

    def _unsent(self, more_bytes: int) -> None:
        self.unsent_bytes += more_bytes


_NOTHING = Converted(None, ConversionCost(0, 0, 0, 0))


class _MemoryFile:
    """What the answers of one request are written to. Counted: its maker holds it, and every slice."""

    __slots__ = ("_holders", "_note", "fileno", "size_bytes")

    def __init__(self, note: Callable[[int], None]) -> None:
        self.fileno = os.memfd_create("down-conversion")
        self.size_bytes = 0
        self._note = note
        self._holders = 1

    def grow(self, size_bytes: int) -> None:
        self.size_bytes += size_bytes
        self._note(size_bytes)

    def retain(self) -> None:
        self._holders += 1

    def release(self) -> None:
        self._holders -= 1
        if not self._holders:
            os.close(self.fileno)
            self._note(-self.size_bytes)
