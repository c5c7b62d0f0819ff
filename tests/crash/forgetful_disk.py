"""A disk that forgets what was not synced, tears writes, and fails when told to.

Role        The real calls are made on a small directory in memory (tmpfs), because readers map, stat and scan real
            files; beside them this keeps what a power cut would leave. So a run costs milliseconds and no real sync.
Model       A file has the bytes of its last fsync and, behind them, every write and cut since; a directory has the
            names of its last fsync and every creation, rename and removal since. Nothing else is promised: syncing a
            file says nothing about its name. A power cut leaves, of each file and of each directory on its own, a
            prefix of what was not synced: of the first write behind it a part, or zeros where its bytes should be. Now
            and then a write in the middle has become zeros, too (blocks reach the disk in no order).
"""

from __future__ import annotations

import enum
import errno
import os
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from gevent import GreenletExit

from kafka_zk.log.files.disk import Disk

T = TypeVar("T")
_ID = re.compile(r"\.[0-9a-f]{32}")


class PowerCut(GreenletExit):
    """Nothing happens any more. A GreenletExit, so that greenlets end by it without a word."""


class Fate(enum.Enum):
    """What becomes of what was not synced."""

    KEPT = "the process was killed, the machine lives"
    LOST = "all of it is lost"
    MIXED = "a part of each file and each directory survives"


@dataclass(slots=True)
class FileNode:
    synced: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """(position, bytes) of a write, (size, None) of a cut or an extension."""

    def sync(self) -> None:
        self.synced = self.content()
        self.pending.clear()

    def content(self) -> bytearray:
        """What a reader sees now."""
        content = bytearray(self.synced)
        for position, data in self.pending:
            _apply(content, position, data)
        return content

    def survive(self, fate: Fate, chance: random.Random) -> FileNode:
        content, kept = bytearray(self.synced), len(self.pending)
        if fate is not Fate.KEPT:
            kept = 0 if fate is Fate.LOST else chance.randint(0, kept)
        holed = fate is Fate.MIXED and chance.random() < 0.15
        for position, data in self.pending[:kept]:
            is_lost = data is not None and holed and chance.random() < 0.3
            _apply(content, position, bytes(len(data)) if data is not None and is_lost else data)
        if fate is Fate.MIXED and kept < len(self.pending):
            position, data = self.pending[kept]
            if data is not None and chance.random() < 0.7:
                part = data[: chance.randint(0, len(data))]
                _apply(content, position, bytes(len(part)) if chance.random() < 0.3 else part)
        return FileNode(content)


@dataclass(slots=True)
class DirNode:
    names: dict[str, FileNode | DirNode] = field(default_factory=dict)
    synced: dict[str, FileNode | DirNode] = field(default_factory=dict)
    pending: list[dict[str, FileNode | DirNode | None]] = field(default_factory=list)
    """Each a step: the names that it sets, those that it takes away (None)."""

    def change(self, step: dict[str, FileNode | DirNode | None]) -> None:
        _change(self.names, step)
        self.pending.append(step)

    def sync(self) -> None:
        self.synced = dict(self.names)
        self.pending.clear()

    def sync_all(self) -> None:
        """With everything below."""
        self.sync()
        for node in self.names.values():
            node.sync() if isinstance(node, FileNode) else node.sync_all()

    def survive(self, fate: Fate, chance: random.Random) -> DirNode:
        names, kept = dict(self.synced), len(self.pending)
        if fate is not Fate.KEPT:
            kept = 0 if fate is Fate.LOST else chance.randint(0, kept)
        for step in self.pending[:kept]:
            _change(names, step)
        left = {name: node.survive(fate, chance) for name, node in sorted(names.items(), key=_without_ids)}
        return DirNode(left, dict(left))


def _without_ids(item: tuple[str, object]) -> str:
    """What to order names by. A directory to be deleted or moved has an id that no seed decides."""
    return _ID.sub("", item[0])


class ForgetfulDisk(Disk):
    """`cut_at`: the power goes at the n-th changing call from now on; `fail_at`: that call fails with `error`.

    `syncs_at_once`: one call may sync everything, as on a file system that keeps syncfs' promise.
    """

    def __init__(self, root: Path, tree: DirNode | None = None, *, syncs_at_once: bool = False) -> None:
        self.root = str(root)
        self.tree = tree or DirNode()
        self.syncs_at_once = syncs_at_once
        self.chance = random.Random(0)
        self.calls = 0
        self.cut_at = self.fail_at = -1
        self.error = errno.EIO
        self.fails_for_good = False
        self.is_off = False
        self.has_failed = False
        self.has_ever_failed = False
        """In this process, before it was last armed, too: what runs in the background may tell of it late."""
        self.has_past = False
        """Whether something of an earlier process is not synced yet."""
        self._by_inode: dict[int, FileNode | DirNode] = {}
        self.open_descriptors: set[int] = set()

    def arm(self, chance: random.Random, *, cut_at: int = -1, fail_at: int = -1, error: int = errno.EIO) -> None:
        self.chance = chance
        self.calls = 0
        self.cut_at, self.fail_at, self.error = cut_at, fail_at, error
        self.fails_for_good = chance.random() < 0.5
        self.is_off = self.has_failed = False

    def in_next_process(self) -> ForgetfulDisk:
        """The same disk with all that it still holds in memory."""
        disk = ForgetfulDisk(Path(self.root), self.tree, syncs_at_once=self.syncs_at_once)
        disk.has_past = True
        return disk

    def end(self) -> None:
        """The process is gone, and with it the descriptors: nobody who is left of it reaches the disk any more."""
        self.is_off = True
        for descriptor in list(self.open_descriptors):
            self.close(descriptor)

    def after_power_cut(self, fate: Fate, chance: random.Random) -> ForgetfulDisk:
        """The disk as the machine finds it when the power is back."""
        tree = self.tree.survive(fate, chance)
        shutil.rmtree(self.root)
        _write_out(tree, self.root)
        return ForgetfulDisk(Path(self.root), tree, syncs_at_once=self.syncs_at_once)

    # The calls

    def open(self, path: str | Path, flags: int, mode: int = 0o777) -> int:  # type: ignore[override]
        if self.is_off:
            raise PowerCut
        changes = flags & (os.O_CREAT | os.O_TRUNC) and not os.path.exists(path)
        if changes or flags & os.O_TRUNC:
            self._begin(path)
        descriptor = os.open(path, flags, mode)
        self.open_descriptors.add(descriptor)
        parent, name = self._parent_of(path)
        if changes:
            parent.change({name: FileNode()})
        elif flags & os.O_TRUNC:
            self._file_at(parent, name).pending.append((0, None))
        node = parent.names[name] if name else parent
        self._by_inode[os.fstat(descriptor).st_ino] = node
        self._end(changes or flags & os.O_TRUNC)
        return descriptor

    def close(self, descriptor: int) -> None:  # type: ignore[override]
        if descriptor in self.open_descriptors:
            self.open_descriptors.remove(descriptor)
            os.close(descriptor)

    def pwrite(self, descriptor: int, data: bytes, position: int) -> int:  # type: ignore[override]
        try:
            self._begin(descriptor)
        except OSError:
            if self.chance.random() < 0.5:
                raise
            data = bytes(data[: self.chance.randrange(len(data))])
        node = self._by_inode[os.fstat(descriptor).st_ino]
        assert isinstance(node, FileNode)
        written = os.pwrite(descriptor, data, position)
        node.pending.append((position, bytes(data)))
        self._end()
        return written

    def ftruncate(self, descriptor: int, size: int) -> None:  # type: ignore[override]
        self._begin(descriptor)
        node = self._by_inode[os.fstat(descriptor).st_ino]
        assert isinstance(node, FileNode)
        os.ftruncate(descriptor, size)
        node.pending.append((size, None))
        self._end()

    def truncate(self, path: str | Path, size: int) -> None:  # type: ignore[override]
        self._begin(path)
        os.truncate(path, size)
        self._file_at(*self._parent_of(path)).pending.append((size, None))
        self._end()

    def fsync(self, descriptor: int) -> None:  # type: ignore[override]
        self._begin(descriptor)
        self._by_inode[os.fstat(descriptor).st_ino].sync()
        self._end()

    def can_sync_at_once(self, path: Path) -> bool:
        return self.syncs_at_once

    def sync_at_once(self, descriptor: int) -> None:
        self._begin(descriptor)
        self.tree.sync_all()
        self._end()

    def written_by(self, writer: Callable[[], T], descriptor: int) -> T:
        """What another process writes to an open file, in one go: `writer` is its work."""
        self._begin(descriptor)
        node = self._by_inode[os.fstat(descriptor).st_ino]
        assert isinstance(node, FileNode)
        result = writer()
        before, after = node.content(), os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        start = next((at for at, byte in enumerate(after) if at >= len(before) or byte != before[at]), len(after))
        if start < len(after):
            node.pending.append((start, after[start:]))
        self._end()
        return result

    def rename(self, source: str | Path, target: str | Path) -> None:  # type: ignore[override]
        if not os.path.exists(source):
            raise FileNotFoundError(source)
        self._begin(source)
        os.rename(source, target)
        parent, name = self._parent_of(source)
        parent.change({name: None, self._parent_of(target)[1]: parent.names[name]})
        self._end()

    def unlink(self, path: str | Path) -> None:  # type: ignore[override]
        if not os.path.exists(path):
            raise FileNotFoundError(path)
        self._begin(path)
        os.unlink(path)
        parent, name = self._parent_of(path)
        parent.change({name: None})
        self._end()

    def mkdir(self, path: str | Path) -> None:  # type: ignore[override]
        self._begin(path)
        os.mkdir(path)
        parent, name = self._parent_of(path)
        parent.change({name: DirNode()})
        self._end()

    def rmdir(self, path: str | Path) -> None:  # type: ignore[override]
        self._begin(path)
        os.rmdir(path)
        parent, name = self._parent_of(path)
        parent.change({name: None})
        self._end()

    # Faults

    def _begin(self, what: object) -> None:
        """Count a call that changes the disk. Raises PowerCut, OSError."""
        if self.is_off:
            raise PowerCut
        self.calls += 1
        if self.calls == self.fail_at or (self.has_failed and self.fails_for_good):
            self.has_failed = self.has_ever_failed = True
            raise OSError(self.error, os.strerror(self.error), str(what))

    def _end(self, counted: object = True) -> None:
        if counted and self.calls == self.cut_at:
            self.is_off = True
            raise PowerCut

    # Names

    def _parent_of(self, path: str | Path) -> tuple[DirNode, str]:
        """The directory that holds `path`, and its name there: "" for the root itself."""
        below = str(path)[len(self.root) :]
        if not below:
            return self.tree, ""
        parts = below[1:].split("/")
        node = self.tree
        for part in parts[:-1]:
            child = node.names[part]
            assert isinstance(child, DirNode)
            node = child
        return node, parts[-1]

    def _file_at(self, parent: DirNode, name: str) -> FileNode:
        node = parent.names[name]
        assert isinstance(node, FileNode)
        return node


def _apply(content: bytearray, position: int, data: bytes | None) -> None:
    end = position + (len(data) if data is not None else 0)
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    if data is None:
        del content[position:]
    else:
        content[position:end] = data


def _change(names: dict[str, FileNode | DirNode], step: dict[str, FileNode | DirNode | None]) -> None:
    for name, node in step.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


def _write_out(tree: DirNode, path: str) -> None:
    os.makedirs(path, exist_ok=True)
    for name, node in tree.names.items():
        below = f"{path}/{name}"
        if isinstance(node, DirNode):
            _write_out(node, below)
        else:
            descriptor = os.open(below, os.O_WRONLY | os.O_CREAT, 0o644)
            os.write(descriptor, node.synced)
            os.close(descriptor)
