"""A small file replaced, cut off before and after each effect on the disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.spark.jobs.file_replacement import create_local, replace_local

EFFECTS = ("mkdir", "fsync", "unlink", "replace", "fsync")


class PowerCut(Exception):
    """Nothing happens from here on."""


class Disk:
    """Counts the effects of a replacement, and cuts it off before the one with the number `last`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, last: int = len(EFFECTS)) -> None:
        self.effects: list[str] = []
        self._last = last
        for owner, name in ((Path, "mkdir"), (os, "fsync"), (Path, "unlink"), (os, "replace")):
            monkeypatch.setattr(owner, name, self._noting(name, getattr(owner, name)))

    def _noting(self, name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*arguments: Any, **options: Any) -> Any:
            if len(self.effects) == self._last:
                raise PowerCut
            self.effects.append(name)
            return act(*arguments, **options)

        return noting


def test_a_text_is_synced_before_it_takes_its_place_and_its_place_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    replace_local(tmp_path / "state", b"new")
    assert tuple(disk.effects) == EFFECTS
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("last", range(len(EFFECTS)))
def test_a_crash_at_any_moment_leaves_the_old_text_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    (tmp_path / "state").write_bytes(b"old")
    (tmp_path / ".state.crc").write_bytes(b"of the old text")
    with monkeypatch.context() as patched:
        Disk(patched, last)
        with pytest.raises(PowerCut):
            replace_local(tmp_path / "state", b"new text")
    replaced = last > EFFECTS.index("replace")
    assert (tmp_path / "state").read_bytes() == (b"new text" if replaced else b"old")
    replace_local(tmp_path / "state", b"once more")
    assert (tmp_path / "state").read_bytes() == b"once more"
    assert not (tmp_path / ".state.crc").exists(), "a checksum of another text would hide the new one"


@pytest.mark.parametrize("error", [None, errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_that_is_there_is_not_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int | None
) -> None:
    """Also where the file system has no hard links."""

    def refuse(*_: object) -> None:
        assert error is not None
        raise OSError(error, os.strerror(error))

    if error is not None:
        monkeypatch.setattr(os, "link", refuse)
    at = tmp_path / "folder" / "state"
    assert create_local(at, b"first")
    assert not create_local(at, b"second")
    assert at.read_bytes() == b"first"
    assert [path.name for path in at.parent.iterdir()] == ["state"]
