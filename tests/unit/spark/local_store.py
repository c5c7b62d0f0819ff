"""A directory on the local disk in the place of FileStore, which needs Spark's JVM."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


class LocalStore:
    """What FileStore does, for one directory that may not be there."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def exists(self, name: str = "") -> bool:
        return (self.root / name).exists()

    def names(self, folder: str = "") -> list[str]:
        if not self.exists(folder):
            return []
        return sorted(path.name for path in (self.root / folder).iterdir() if path.is_file())

    def read(self, name: str) -> str | None:
        return (self.root / name).read_text() if self.exists(name) else None

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def write_new(self, name: str, text: str) -> bool:
        if self.exists(name):
            return False
        self.write(name, text)
        return True

    def data_files(self) -> Iterator[str]:
        for path in sorted(self.root.rglob("*")):
            if path.is_file() and not any(part[0] in "_." for part in path.relative_to(self.root).parts):
                yield str(path)

    def delete(self, path: str) -> None:
        Path(path).unlink()
