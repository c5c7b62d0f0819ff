"""--package: kafka_zk and what workers need of it, as an archive that Spark unpacks beside each of them.

Role        Acts: reads what is installed here, writes a .tar.gz. Wheels or zips on the path would not work, as compiled
            modules cannot be imported from it.
Contents    The package kafka_zk with its compiled modules, the helper modules that mypyc puts beside it, and the
            installed files of the libraries that workers need. Spark, pyarrow and pandas are the workers' own.
Use         PYTHONPATH=kafka_zk_env spark-submit --archives kafka_zk.tar.gz#kafka_zk_env
            --conf spark.executorEnv.PYTHONPATH=kafka_zk_env kafka_zk_env/pipeline.py ...; unpacked as kafka_zk_env for
            the driver.
"""

from __future__ import annotations

import importlib.metadata
import io
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import kafka_zk

UNPACKED_AS = "kafka_zk_env"
LIBRARIES = ("crc32c", "lz4", "python-snappy", "cramjam", "zstandard", "fastavro", "cryptography", "cffi")
"""Codecs, checksums and key stores; gevent and kazoo are the broker's."""
OPTIONAL = frozenset(("cramjam", "fastavro"))
ENTRY_NAME = "pipeline.py"
ENTRY = """# What spark-submit runs: spark-submit [...] pipeline.py JOB --config pipeline.toml
from kafka_zk.spark.cli.command import run

run()
"""


class PackageError(Exception):
    """A distribution to package is not installed, or the package cannot be written."""


def pack(target: Path, include: Sequence[str]) -> Path:
    """Write the archive. Raises PackageError, OSError."""
    root = Path(kafka_zk.__file__).resolve().parent
    if not target.parent.is_dir():
        raise PackageError(f"the directory {target.parent} of the package does not exist")
    unfinished = target.with_name(f".{target.name}.unfinished")
    with tarfile.open(unfinished, "w:gz", compresslevel=3) as archive:
        for name, file in [*_own_files(root), *_library_files([*LIBRARIES, *include])]:
            archive.add(file, name, recursive=False)
        entry = tarfile.TarInfo(ENTRY_NAME)
        entry.size = len(ENTRY)
        archive.addfile(entry, io.BytesIO(ENTRY.encode()))
    unfinished.replace(target)
    return target


def _own_files(root: Path) -> Iterator[tuple[str, Path]]:
    """Everything of the package but caches and sources of compiled modules."""
    for file in sorted(root.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts and file.suffix not in (".pyx", ".pxd", ".c", ".pyi"):
            yield f"{root.name}/{file.relative_to(root)}", file
    # mypyc leaves one module of shared code for everything it compiled, at the top level.
    for file in sorted(root.parent.glob("*__mypyc*.so")):
        yield file.name, file


def _library_files(distributions: Iterable[str]) -> Iterator[tuple[str, Path]]:
    for name in distributions:
        try:
            files = importlib.metadata.distribution(name).files or []
        except importlib.metadata.PackageNotFoundError:
            if name in OPTIONAL:
                continue
            raise PackageError(f"{name} is not installed, so it cannot be packed") from None
        for file in files:
            located = Path(str(file.locate()))
            if ".." not in file.parts and "__pycache__" not in file.parts and located.is_file():
                yield str(file), located
