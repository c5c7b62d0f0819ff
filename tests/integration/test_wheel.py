"""A wheel holds everything a user without a checkout needs, and runs without one."""

import os
import shutil
import subprocess
import sys
import sysconfig
import time
import zipfile
from pathlib import Path

import pytest

from kafka_zk.config.shipped import NAMES
from kafka_zk.protocol.coding import CODEC
from kafka_zk.record import WALKER
from tests.support.processes import wait_until

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from the committed and changed files of this tree, and from what scripts/setup.sh has compiled."""
    source, wheels = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheels")
    for name in listed("--cached", "--others", "--exclude-standard"):
        if (PROJECT / name).is_file():
            place(PROJECT / name, source / name)
    # What is up to date is not compiled once more: C of Cython's that is younger than Cython's headers, and extensions,
    # where a build leaves them, that are younger than all C.
    library = f"build/lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
    now = time.time()
    for name in listed("--others", "--", "build/*.c", "build/*.h"):
        place(PROJECT / name, source / name)
    for name in listed("--others", "--", "kafka_zk/*.c"):
        place(PROJECT / name, source / name, now + 3600)
    for name in listed("--others", "--", "kafka_zk/*.so"):
        place(PROJECT / name, source / library / name, now + 7200)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--wheel-dir", str(wheels), str(source)], check=True)
    (wheel,) = wheels.glob("*.whl")
    return wheel


def listed(*how: str) -> list[str]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", *how], cwd=PROJECT, check=True, capture_output=True, text=True
    ).stdout
    return list(filter(None, listing.split("\0")))


def place(file: Path, target: Path, changed_s: float | None = None) -> None:
    """Copy it, as old as it is or so that it looks changed then."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(file, target)
    if changed_s is not None:
        os.utime(target, (changed_s, changed_s))


@pytest.fixture(scope="module")
def wheel_names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.fixture(scope="module")
def commands(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of a fresh environment, its path with a space in it, that has the wheel and what it depends on."""
    environment = tmp_path_factory.mktemp("fresh environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", str(wheel)], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    # The dependencies are those of the present environment. An editable kafka_zk is not among them: files that a path
    # file names are not searched for path files of their own.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.parent


def run(command: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(command), *arguments],
        cwd="/",
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_wheel_holds_the_configuration_files(wheel_names: set[str]):
    assert {f"kafka_zk/config/shipped/{name}" for name in NAMES} <= wheel_names


def test_a_wheel_holds_the_types(wheel_names: set[str]):
    assert "kafka_zk/py.typed" in wheel_names
    stubs = {str(path.relative_to(PROJECT)) for path in (PROJECT / "kafka_zk").rglob("*.pyi")}
    assert stubs <= wheel_names


def test_a_wheel_holds_no_tests(wheel_names: set[str]):
    assert not [name for name in wheel_names if name.startswith("tests/")]


def test_an_installed_wheel_runs_without_the_checkout(commands: Path):
    code = (
        "import kafka_zk; from kafka_zk.protocol.coding import CODEC; from kafka_zk.record import WALKER; "
        "print(kafka_zk.__file__, CODEC, WALKER)"
    )
    where, codec, walker = run(commands / "python", "-c", code).stdout.rsplit(maxsplit=2)
    assert Path(where).is_relative_to(commands.parent)
    assert (codec, walker) == (CODEC, WALKER), "the compiled modules are in the wheel where a compiler was found"


def test_an_installed_broker_starts_in_the_background_is_asked_by_an_installed_tool_and_stops(
    commands: Path, tmp_path: Path, zookeeper_connect: str
):
    # No other broker of this machine has this id; the stop command looks at all of them.
    node_id, port_file, output = 918_273, tmp_path / "port", tmp_path / "logs" / "kafkaServer.out"
    (tmp_path / "server.properties").write_text(
        f"broker.id={node_id}\nbroker.id.generation.enable=false\nlisteners=PLAINTEXT://127.0.0.1:0\n"
        f"zookeeper.connect={zookeeper_connect}\nlog.dirs={tmp_path}/data\n"
    )
    arguments = ("-daemon", str(tmp_path / "server.properties"), "--port-file", str(port_file))
    started = run(commands / "kafka-server-start", *arguments, LOG_DIR=str(tmp_path / "logs"))
    assert (started.returncode, started.stdout, started.stderr) == (0, "", "")
    try:
        wait_until(port_file.exists, "the installed broker serves")
        bootstrap = ("--bootstrap-server", f"127.0.0.1:{port_file.read_text().strip()}")
        created = run(commands / "kafka-topics", *bootstrap, "--create", "--topic", "flights")
        assert created.stdout == "Created topic flights.\n", created.stderr
        assert run(commands / "kafka-topics", *bootstrap, "--list").stdout == "flights\n"
    finally:
        stopped = run(commands / "kafka-server-stop", f"--node-id={node_id}")
    assert stopped.returncode == 0, output.read_text()
    wait_until(lambda: "shut down completed" in output.read_text(), "the broker has stopped")
