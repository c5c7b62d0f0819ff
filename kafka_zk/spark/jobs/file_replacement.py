"""Replaces a small file atomically: a crash leaves the old text or the new one. Or creates it, if nobody has yet.

Role        Acts, on the driver.
Rule        Written beside its place, synced, renamed over the old file; nothing is deleted before. A new one gets its
            place in one step that fails where there is one.
"""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

WITHOUT_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP)
"""Errors of file systems without hard links: FAT, and some that reach an object store."""


def unfinished_name(name: str) -> str:
    """The temporary name of a file being written; readers skip names that begin with a dot."""
    return f".{name}.unfinished"


def replace_local(at: Path, content: bytes) -> None:
    """On a file system of this machine. Raises OSError."""
    at.parent.mkdir(parents=True, exist_ok=True)
    unfinished = at.with_name(unfinished_name(at.name))
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    # The checksum that Hadoop keeps beside a file of its own would not fit the new text; without one it checks nothing.
    at.with_name(f".{at.name}.crc").unlink(missing_ok=True)
    os.replace(unfinished, at)
    _sync_folder(at)


def create_local(at: Path, content: bytes) -> bool:
    """As `replace_local`, unless there is such a file; whether it was created. Raises OSError.

    Where there are no hard links, the later of two that create it at once wins.
    """
    at.parent.mkdir(parents=True, exist_ok=True)
    unfinished = at.with_name(unfinished_name(f"{at.name}-{uuid.uuid4().hex}"))
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(unfinished, at)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in WITHOUT_LINKS:
            raise
        if at.exists():
            return False
        os.replace(unfinished, at)
    finally:
        unfinished.unlink(missing_ok=True)
    _sync_folder(at)
    return True


def _sync_folder(at: Path) -> None:
    directory = os.open(at.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def replace_remote(jvm: Any, gateway: Any, configuration: Any, fs: Any, at: Any, content: bytes) -> None:
    """On any other file system that Hadoop knows. Raises OSError where the new file cannot take its place.

    Without FileContext it is an object store without rename: there a file appears, complete, when it is closed.
    """
    hadoop = jvm.org.apache.hadoop.fs
    fs.mkdirs(at.getParent())
    try:
        context = hadoop.FileContext.getFileContext(at.toUri(), configuration)
    except Exception as error:
        if "UnsupportedFileSystemException" not in str(error):
            raise OSError(f"could not write {at}: {error}") from error
        _write(fs, at, content)
        return
    unfinished = hadoop.Path(at.getParent(), unfinished_name(at.getName()))
    _write(fs, unfinished, content)
    how = getattr(hadoop, "Options$Rename")
    options = gateway.new_array(how, 1)
    options[0] = how.OVERWRITE
    try:
        context.rename(unfinished, at, options)
    except Exception as error:
        raise OSError(f"could not rename {unfinished} to {at.getName()}: {error}") from error


def create_remote(jvm: Any, gateway: Any, configuration: Any, fs: Any, at: Any, content: bytes) -> bool:
    """As `replace_remote`, unless there is such a file; whether it was created. Raises OSError."""
    hadoop = jvm.org.apache.hadoop.fs
    fs.mkdirs(at.getParent())
    try:
        context = hadoop.FileContext.getFileContext(at.toUri(), configuration)
    except Exception as error:
        if "UnsupportedFileSystemException" not in str(error):
            raise OSError(f"could not write {at}: {error}") from error
        return _created(lambda: _write(fs, at, content, replace=False), at)
    unfinished = hadoop.Path(at.getParent(), unfinished_name(f"{at.getName()}-{uuid.uuid4().hex}"))
    _write(fs, unfinished, content)
    try:
        options = gateway.new_array(getattr(hadoop, "Options$Rename"), 0)
        return _created(lambda: context.rename(unfinished, at, options), at)
    finally:
        fs.delete(unfinished, False)


def _created(create: Callable[[], object], at: Any) -> bool:
    try:
        create()
    except Exception as error:
        if "FileAlreadyExistsException" in str(error):
            return False
        raise OSError(f"could not create {at}: {error}") from error
    return True


def _write(fs: Any, at: Any, content: bytes, *, replace: bool = True) -> None:
    stream = fs.create(at, replace)
    try:
        stream.write(bytearray(content))
        stream.hsync()
    finally:
        stream.close()
