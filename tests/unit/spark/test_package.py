"""What workers are given."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

import kafka_zk
from kafka_zk.spark.cli.package import ENTRY_NAME, PackageError, pack


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    with tarfile.open(pack(tmp_path_factory.mktemp("package") / "workers.tar.gz", [])) as archive:
        return set(archive.getnames())


def test_the_package_is_whole_and_has_no_caches(names: set[str]):
    root = Path(kafka_zk.__file__).parent
    sources = {f"kafka_zk/{path.relative_to(root)}" for path in root.rglob("*.py")}
    assert sources <= names
    assert not [name for name in names if "__pycache__" in name]


def test_compiled_modules_and_what_mypyc_puts_beside_the_package_are_in_it(names: set[str]):
    root = Path(kafka_zk.__file__).parent
    compiled = {f"kafka_zk/{path.relative_to(root)}" for path in root.rglob("*.so")}
    assert compiled | {path.name for path in root.parent.glob("*__mypyc*.so")} <= names


def test_the_codecs_are_in_it_and_what_spark_submit_runs(names: set[str]):
    for package in ("crc32c", "lz4", "snappy", "zstandard"):
        assert any(name.startswith(f"{package}/") for name in names), package
    assert ENTRY_NAME in names


def test_what_is_not_installed_cannot_be_packed_and_nothing_is_left(tmp_path: Path):
    with pytest.raises(PackageError, match="no-such-thing is not installed, so"):
        pack(tmp_path / "workers.tar.gz", ["no-such-thing"])
    assert not (tmp_path / "workers.tar.gz").exists()


def test_a_package_makes_no_folder_for_itself(tmp_path: Path):
    with pytest.raises(PackageError, match=f"the directory {tmp_path / 'nothere'} of the package does not exist"):
        pack(tmp_path / "nothere" / "workers.tar.gz", [])
    assert not list(tmp_path.iterdir())
