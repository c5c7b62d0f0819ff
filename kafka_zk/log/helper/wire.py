"""The protocol between broker and helper process: pickled objects and file descriptors over a socket pair.

Role        Plain, for both ends; the one that must not block passes what to do when the socket is full or empty.
Layout      size of the pickle 8 | count of files 1 | the pickle. The files travel beside the first byte (SCM_RIGHTS).
Invariants  A `Descriptor` anywhere in a message arrives as one that the receiver owns and must close; the sender keeps
            its own. Files of a message that does not arrive whole are closed.
Source      unix(7).
"""

from __future__ import annotations

import io
import os
import pickle
import socket
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import Struct

_HEAD = Struct(">QB")
_CHUNK_BYTES = 1024 * 1024
_MOST_FILES = 253  # SCM_MAX_FD


@dataclass(frozen=True, slots=True)
class Descriptor:
    """An open file inside a message."""

    fileno: int

    def close(self) -> None:
        os.close(self.fileno)


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.found: list[int] = []

    def persistent_id(self, obj: object) -> int | None:
        if not isinstance(obj, Descriptor):
            return None
        self.found.append(obj.fileno)
        return len(self.found) - 1


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, received: Sequence[int]) -> None:
        super().__init__(file)
        self._received = received

    def persistent_load(self, index: int) -> Descriptor:
        return Descriptor(self._received[index])


class Packed:
    """A message ready to be sent, more than once if need be. Making it raises what pickling raises."""

    __slots__ = ("_data", "_descriptors")

    def __init__(self, message: object) -> None:
        file = io.BytesIO(bytes(_HEAD.size))
        file.seek(_HEAD.size)
        pickler = _Pickler(file)
        pickler.dump(message)
        if len(pickler.found) > _MOST_FILES:
            raise ValueError(f"A message carries at most {_MOST_FILES} files, not {len(pickler.found)}")
        data = file.getbuffer()
        _HEAD.pack_into(data, 0, len(data) - _HEAD.size, len(pickler.found))
        self._data = data
        self._descriptors = pickler.found

    def send(self, channel: socket.socket, wait_writable: Callable[[], None]) -> None:
        """Raises OSError if the other end was closed."""
        rest = self._data
        files = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", self._descriptors))] if self._descriptors else []
        while rest:
            try:
                sent = channel.sendmsg([rest], files)
            except BlockingIOError:
                wait_writable()
                continue
            rest = rest[sent:]
            files = []


def receive(channel: socket.socket, wait_readable: Callable[[], None]) -> object:
    """The next message. Raises EOFError or OSError if the other end was closed, and errors of unpickling."""
    files: list[int] = []
    try:
        size, file_count = _HEAD.unpack(_exactly(channel, _HEAD.size, files, wait_readable))
        data = _exactly(channel, size, files, wait_readable)
        if len(files) != file_count:
            raise OSError(f"received {len(files)} of {file_count} files")
        return _Unpickler(io.BytesIO(data), files).load()
    except BaseException:
        # Nobody else knows of these descriptors yet.
        for fileno in files:
            os.close(fileno)
        raise


def _exactly(channel: socket.socket, size: int, files: list[int], wait_readable: Callable[[], None]) -> bytearray:
    received = bytearray()
    while len(received) < size:
        most = min(size - len(received), _CHUNK_BYTES)
        try:
            data, ancillary, _, _ = channel.recvmsg(most, socket.CMSG_SPACE(4 * _MOST_FILES), socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            wait_readable()
            continue
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                files += array("i", content[: len(content) // 4 * 4])
        if not data:
            raise EOFError("the other end closed the channel")
        received += data
    return received
