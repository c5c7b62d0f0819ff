"""Small files and listings on whatever Spark can write to: a local folder, HDFS, an object store.

Role        Acts, on the driver, through Hadoop's FileSystem.
Invariants  A text is there whole or not at all: it is written beside its place and renamed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class FileStore:
    """One directory."""

    def __init__(self, session: SparkSession, root: str) -> None:
        jvm: Any = session._jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        self._jvm = jvm
        self.root = root
        self._root = self._path(root)
        self._fs = self._root.getFileSystem(session._jsc.hadoopConfiguration())

    def _at(self, name: str) -> Any:
        return self._path(self._root, name)

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
        """Raises OSError where the new file cannot take its place."""
        at, unfinished = self._at(name), self._at(f".{name.replace('/', '-')}.unfinished")
        stream = self._fs.create(unfinished, True)
        try:
            stream.write(bytearray(text.encode()))
            stream.hsync()
        finally:
            stream.close()
        self._fs.mkdirs(at.getParent())
        if self._fs.exists(at):
            self._fs.delete(at, False)
        if not self._fs.rename(unfinished, at):
            raise OSError(f"{unfinished} cannot be renamed to {name}")

    def data_files(self) -> Iterator[str]:
        """Paths, without scheme, of all files below that Spark's readers would read: no name on the way begins with
        an underscore or a dot."""
        if not self.exists():
            return
        root = self._fs.makeQualified(self._root).toUri().getPath()
        if self._fs.getFileStatus(self._root).isFile():
            yield str(root)
            return
        listing = self._fs.listFiles(self._root, True)
        while listing.hasNext():
            path = str(listing.next().getPath().toUri().getPath())
            parts = path.removeprefix(root).strip("/").split("/")
            if not any(part.startswith(("_", ".")) for part in parts):
                yield path

    def delete(self, path: str) -> None:
        """A file by its whole path, or a name below the root."""
        self._fs.delete(self._path(self._root, path), False)
