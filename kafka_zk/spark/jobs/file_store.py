"""Small files and listings on whatever Spark can write to: a local folder, HDFS, an object store.

Role        Acts, on the driver, through Hadoop's FileSystem.
Invariants  A text is always complete, the old one or the new one: see file_replacement.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_zk.spark.jobs.file_replacement import create_local, create_remote, replace_local, replace_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


HIDDEN = ("_", ".")
"""Spark's readers skip names that begin with these."""
_SPECIAL = re.compile(r"[\\*?\[\]{}]")


def as_plain_name(path: str) -> str:
    """A path for Spark's readers, which take some characters of it for a pattern."""
    return _SPECIAL.sub(r"\\\g<0>", path)


def is_read_with(root: str, folder: str) -> bool:
    """Whether a reader of the data files below `root` reads those of `folder`, too; both are whole paths."""
    root = root.rstrip("/")
    if folder != root and not folder.startswith(f"{root}/"):
        return False
    return not any(part.startswith(HIDDEN) for part in folder.removeprefix(root).split("/"))


class FileStore:
    """One directory."""

    def __init__(self, session: SparkSession, root: str) -> None:
        jvm: Any = session._jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        self._jvm = jvm
        self.root = root
        self._root = self._path(root)
        self._gateway: Any = session.sparkContext._gateway
        configuration = self._configuration = session._jsc.hadoopConfiguration()
        self._fs = self._root.getFileSystem(configuration)
        default = jvm.org.apache.hadoop.fs.FileSystem.getDefaultUri(configuration)
        self._is_default = default.getScheme() == self._fs.getUri().getScheme() and (
            self._fs.getUri().getAuthority() in (None, default.getAuthority())
        )

    def _at(self, name: str) -> Any:
        return self._path(self._root, name)

    @property
    def folder(self) -> Path | None:
        """Where it is on this machine; None on another file system."""
        at = self._fs.makeQualified(self._root).toUri()
        return Path(at.getPath()) if at.getScheme() == "file" else None

    def reads_from(self, other: FileStore) -> bool:
        """Whether what is written to the other one would be among these `data_files`."""
        return is_read_with(self._whole_name(), other._whole_name())

    def _whole_name(self) -> str:
        folder = self.folder
        return str(folder.resolve() if folder else self._fs.makeQualified(self._root).toString())

    def exists(self, name: str = "") -> bool:
        return bool(self._fs.exists(self._at(name) if name else self._root))

    def names(self, folder: str = "") -> list[str]:
        """Names of the files in a folder, sorted; none when it is not there."""
        at = self._at(folder) if folder else self._root
        if not self._fs.exists(at):
            return []
        return sorted(status.getPath().getName() for status in self._fs.listStatus(at) if status.isFile())

    def read(self, name: str) -> str | None:
        """The text; None when there is no such file."""
        at = self._at(name)
        if not self._fs.exists(at):
            return None
        stream = self._fs.open(at)
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream)).decode()
        finally:
            stream.close()

    def texts(self) -> dict[str, str]:
        """Every file of the directory itself, by name; small ones are meant."""
        return {name: self.read(name) or "" for name in self.names() if not name.startswith(".")}

    def write(self, name: str, text: str) -> None:
        """The old text stays until the new one replaces it. Raises OSError if that fails."""
        at = self._fs.makeQualified(self._at(name))
        if self._fs.getUri().getScheme() == "file":
            replace_local(Path(at.toUri().getPath()), text.encode())
        else:
            replace_remote(self._jvm, self._gateway, self._configuration, self._fs, at, text.encode())

    def write_new(self, name: str, text: str) -> bool:
        """As `write`, unless there is such a file: then it stays, and the answer is False. Of two writers one wins, but
        in an object store without rename and on a file system without hard links, which may let the later one win when
        both have begun."""
        at = self._fs.makeQualified(self._at(name))
        if self._fs.getUri().getScheme() == "file":
            return create_local(Path(at.toUri().getPath()), text.encode())
        return create_remote(self._jvm, self._gateway, self._configuration, self._fs, at, text.encode())

    def data_files(self) -> Iterator[str]:
        """Paths of all files below that Spark's readers would read: no name on the way begins with an underscore or a
        dot. With their scheme where that is not the one of paths without any."""
        for path, _ in self.data_file_sizes():
            yield path

    def data_file_sizes(self) -> Iterator[tuple[str, int]]:
        """As `data_files`, each with how many bytes it has."""
        if not self.exists():
            return
        root = self._name_of(self._fs.makeQualified(self._root))
        itself = self._fs.getFileStatus(self._root)
        if itself.isFile():
            yield root, int(itself.getLen())
            return
        listing = self._fs.listFiles(self._root, True)
        while listing.hasNext():
            found = listing.next()
            path = self._name_of(found.getPath())
            parts = path.removeprefix(root).strip("/").split("/")
            if not any(part.startswith(HIDDEN) for part in parts):
                yield path, int(found.getLen())

    def _name_of(self, path: Any) -> str:
        """The name of a qualified path."""
        return str(path.toUri().getPath() if self._is_default else path.toString())

    def delete(self, path: str) -> None:
        """Delete a file by its whole path, or by a name below the root."""
        self._fs.delete(self._path(self._root, path), False)
