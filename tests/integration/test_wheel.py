"""A wheel holds everything a user without a checkout needs."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kafka_zk.config.shipped import NAMES

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names inside a wheel built from the committed and changed files of this tree, not from its leftovers."""
    source, wheels = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheels")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (PROJECT / name).is_file():
            target.write_bytes((PROJECT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--wheel-dir", str(wheels), str(source)], check=True)
    (wheel,) = wheels.glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


def test_a_wheel_holds_the_configuration_files(wheel_names: set[str]):
    assert {f"kafka_zk/config/shipped/{name}" for name in NAMES} <= wheel_names


def test_a_wheel_holds_the_types(wheel_names: set[str]):
    assert "kafka_zk/py.typed" in wheel_names
    stubs = {str(path.relative_to(PROJECT)) for path in (PROJECT / "kafka_zk").rglob("*.pyi")}
    assert stubs <= wheel_names


def test_a_wheel_holds_no_tests(wheel_names: set[str]):
    assert not [name for name in wheel_names if name.startswith("tests/")]
