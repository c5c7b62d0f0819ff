"""scripts/secure-cluster.sh: what it refuses, and what it leaves behind, with servers that are none.

The real ones: tests/interop/security/test_secure_trial.py.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import free_port, has_ended, wait_until

SCRIPTS = Path(__file__).parents[2] / "scripts"
# What a server does is in a file beside its configuration: nothing (it serves), fail, hang.
SERVER = """
import pathlib, socket, sys, time
name, properties = sys.argv[1], pathlib.Path(sys.argv[2])
does = properties.with_name(name + ".does")
does = does.read_text() if does.exists() else ""
if does == "fail":
    print("[time] ERROR Exiting (kafka.Kafka$)")
    print("java.net.BindException: Address already in use")
    print("\\tat java.net.Socket.bind")
    print("[time] INFO bye (kafka.Kafka$)")
    sys.exit(3)
ports = [int(line.partition("=")[2]) for line in properties.read_text().splitlines() if line.startswith("clientPort=")]
listeners = [socket.create_server(("127.0.0.1", port)) for port in ports]
if does != "hang":
    print("[time] INFO [KafkaServer id=0] started (kafka.server.KafkaServer)", flush=True)
time.sleep(120)
"""


class Trial:
    """The script in a folder of its own, beside servers and tools that are none."""

    def __init__(self, home: Path) -> None:
        self.home, self.folder = home, home / "a trial"
        for module in SCRIPTS.glob("secure_cluster*.py"):
            shutil.copy(module, home)
        (home / "server.py").write_text(SERVER)
        # Its Java is not asked for: nothing here needs one.
        self.script("java-less.py", "import kafka_zk.zk.embedded as e\ne.find_java = e.zookeeper_jars = lambda: None\n"
                    "import secure_cluster, sys\nsys.exit(secure_cluster.main())\n")  # fmt: skip
        for name in ("zookeeper", "kafka"):
            self.script(f"{name}-server-start.sh", f'#!/bin/sh\nexec {sys.executable} {home}/server.py {name} "$1"\n')
        for name in ("configs", "topics", "acls"):
            self.script(f"kafka-{name}.sh", "#!/bin/sh\n")

    def script(self, name: str, text: str) -> None:
        (self.home / name).write_text(text)
        (self.home / name).chmod(0o755)

    def let(self, server: str, does: str) -> None:
        self.folder.mkdir(exist_ok=True)
        fresh = {"ports": {}, "passwords": {}, "processes": {}, "is_set_up": False}
        (self.folder / "state.json").write_text(json.dumps(fresh))
        (self.folder / f"{server}.does").write_text(does)

    def begin(self, *options: object) -> subprocess.Popen[str]:
        command = [sys.executable, str(self.home / "java-less.py"), "--dir", str(self.folder), *map(str, options)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *options: object) -> subprocess.CompletedProcess[str]:
        with self.begin(*options) as begun:
            out, err = begun.communicate(timeout=60)
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(begun.args, begun.returncode, out, err)

    @property
    def state(self) -> dict[str, dict[str, dict[str, int]]]:
        return json.loads((self.folder / "state.json").read_text())  # type: ignore[no-any-return]

    def processes(self) -> list[int]:
        """Of servers that run in its folder, by /proc."""
        found = []
        for each in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = each.read_bytes()
            except OSError:
                continue
            if f"{self.home}/server.py".encode() in words:
                found.append(int(each.parent.name))
        return found


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    made = Trial(tmp_path)
    yield made
    for pid in made.processes():
        os.kill(pid, signal.SIGKILL)


def test_it_starts_tells_how_it_is_and_stops(trial: Trial) -> None:
    started = trial.run()
    assert (started.returncode, started.stderr) == (0, "")
    assert len(trial.processes()) == 2
    status = trial.run("--status")
    assert status.returncode == 0
    # What a start printed is printed again.
    assert status.stdout.endswith(started.stdout[started.stdout.index("\nA broker serves") :])
    again = trial.run()
    assert (again.returncode, again.stdout) == (1, "") and "it is running already" in again.stderr
    assert len(trial.processes()) == 2
    stopped = trial.run("--stop")
    assert (stopped.returncode, stopped.stdout) == (0, "== Stop broker\n== Stop ZooKeeper\n")
    assert trial.processes() == []
    status = trial.run("--status")
    assert (status.returncode, status.stdout) == (1, "ZooKeeper is not running\nbroker    is not running\n")
    assert trial.run("--stop").stderr == f"secure-cluster: nothing is running in {trial.folder}\n"


def test_a_second_run_keeps_ports_and_passwords_unless_told_otherwise(trial: Trial) -> None:
    first = trial.run("--port", wanted := free_port())
    assert trial.state["ports"]["broker"] == wanted
    before = trial.state
    trial.run("--stop")
    second = trial.run("--ssl-port", other := free_port())
    assert trial.state["ports"] == {**before["ports"], "ssl": other}
    assert trial.state["passwords"] == before["passwords"]
    assert "Add the users" in first.stdout and "Add the users" not in second.stdout
    trial.run("--stop")


@pytest.mark.parametrize(
    ("option", "use", "address"),
    [
        ("--port", "listener SASL_SSL", "127.0.0.1"),
        ("--ssl-port", "listener SSL", "::1"),
        ("--zookeeper-port", "ZooKeeper", "0.0.0.0"),
    ],
)
def test_a_port_that_is_taken_is_named_before_anything_starts(
    trial: Trial, option: str, use: str, address: str
) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as taken:
        number = taken.getsockname()[1]
        run = trial.run(option, number)
    told = f"port {number} of {use} is taken by another program: choose another with {option}"
    assert (run.returncode, run.stdout, run.stderr) == (1, "", f"secure-cluster: {told}\n")
    assert list(trial.folder.glob("*.log")) == []


def test_a_port_that_somebody_took_since_is_named_and_no_password_is_printed(trial: Trial) -> None:
    trial.run()
    trial.run("--stop")
    with socket.create_server(("127.0.0.1", trial.state["ports"]["broker"])):  # type: ignore[arg-type]
        run = trial.run()
    assert (run.returncode, run.stdout) == (1, "")
    assert f"port {trial.state['ports']['broker']} of listener SASL_SSL is taken" in run.stderr
    assert trial.processes() == []


def test_one_port_cannot_be_of_two(trial: Trial) -> None:
    run = trial.run("--port", 15_001, "--zookeeper-port", 15_001)
    assert run.returncode == 1 and "cannot be that of listener SASL_SSL and ZooKeeper" in run.stderr


@pytest.mark.parametrize(("server", "name"), [("zookeeper", "ZooKeeper"), ("kafka", "broker")])
def test_a_server_that_ends_is_told_at_once_with_its_reason_and_nothing_runs_on(
    trial: Trial, server: str, name: str
) -> None:
    trial.let(server, "fail")
    began = time.monotonic()
    run = trial.run()
    assert time.monotonic() - began < 30, "it waited for what cannot come"
    assert run.returncode == 1
    assert run.stderr == (
        f"secure-cluster: {name} ended with exit code 3: java.net.BindException: Address already in use\n"
        f"All that it said is in {trial.folder}/{name}.log\n"
    )
    assert trial.processes() == [] and trial.state["processes"] == {}


def test_a_tool_that_fails_is_told_and_nothing_runs_on(trial: Trial) -> None:
    trial.script("kafka-acls.sh", "#!/bin/sh\necho not allowed >&2\nexit 1\n")
    run = trial.run()
    assert (run.returncode, run.stderr) == (1, "secure-cluster: kafka-acls.sh failed: not allowed\n")
    assert trial.processes() == []


def test_a_server_that_ends_while_a_tool_waits_for_it_is_told(trial: Trial) -> None:
    trial.script("kafka-acls.sh", f"#!/bin/sh\nkill $(pgrep -f '{trial.home}/server.py kafka')\nexec sleep 120\n")
    run = trial.run()
    assert run.returncode == 1 and "broker ended with exit code -15" in run.stderr
    assert trial.processes() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_what_was_started(trial: Trial, number: signal.Signals) -> None:
    trial.let("kafka", "hang")
    with trial.begin() as begun:
        wait_until(lambda: len(trial.processes()) == 2, "both servers run")
        begun.send_signal(number)
        out, err = begun.communicate(timeout=60)
    assert begun.returncode == 128 + number
    assert err == "secure-cluster: interrupted; nothing that it started is running\n"
    assert out.endswith("== Stop ZooKeeper and broker\n")
    assert trial.processes() == [] and trial.state["processes"] == {}


def test_what_alone_was_left_is_ended_and_all_started_again(trial: Trial) -> None:
    trial.run()
    os.kill(trial.state["processes"]["broker"]["pid"], signal.SIGKILL)
    status = trial.run("--status")
    assert status.returncode == 1 and status.stdout.endswith("broker    is not running\n")
    again = trial.run()
    assert again.returncode == 0 and again.stdout.startswith("== Stop ZooKeeper, which alone was left")
    assert len(trial.processes()) == 2


def test_two_runs_do_not_work_in_one_folder(trial: Trial) -> None:
    trial.let("kafka", "hang")
    with trial.begin() as begun:
        wait_until(lambda: len(trial.processes()) == 2, "both servers run")
        other = trial.run()
        begun.terminate()
        begun.communicate(timeout=60)
    assert (other.returncode, other.stderr) == (1, f"secure-cluster: another run is working in {trial.folder}\n")


def test_an_open_folder_is_closed_to_others(trial: Trial) -> None:
    trial.folder.mkdir()
    trial.folder.chmod(0o755)
    trial.run()
    assert stat.S_IMODE(trial.folder.stat().st_mode) == 0o700
    trial.run("--stop")
    for path in trial.folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    trial.folder.chmod(0o755)
    trial.run()
    assert stat.S_IMODE(trial.folder.stat().st_mode) == 0o700
    with_secrets = [path for path in trial.folder.iterdir() if path.is_file() and path.suffix != ".log"]
    assert len(with_secrets) > 10
    assert [path for path in with_secrets if stat.S_IMODE(path.stat().st_mode) & 0o077] == []


def test_a_folder_that_holds_something_else_is_left_as_it_is(trial: Trial) -> None:
    run = subprocess.run(
        [sys.executable, str(trial.home / "java-less.py"), "--dir", str(trial.home)], capture_output=True, text=True
    )
    assert run.returncode == 1 and f"{trial.home} holds something else" in run.stderr
    assert not (trial.home / "state.json").exists()


def test_a_folder_that_cannot_be_made_is_named(trial: Trial) -> None:
    trial.folder.write_text("a file")
    run = trial.run()
    assert (run.returncode, run.stderr) == (1, f"secure-cluster: {trial.folder}: File exists\n")


def test_without_java_the_reason_is_told_before_anything_is_made(trial: Trial) -> None:
    trial.script("java-less.py", "import kafka_zk.zk.embedded as e\ne._java_launchers = lambda _: iter(())\n"
                 "import secure_cluster, sys\nsys.exit(secure_cluster.main())\n")  # fmt: skip
    run = trial.run()
    assert run.returncode == 1 and run.stderr.startswith("secure-cluster: Apache ZooKeeper needs Java 17 or newer")
    assert not trial.folder.exists()


def test_a_process_is_known_by_when_it_started(trial: Trial) -> None:
    """A pid may be somebody else's by now."""
    trial.run()
    state = json.loads((trial.folder / "state.json").read_text())
    servers = [each["pid"] for each in state["processes"].values()]
    with subprocess.Popen(["sleep", "120"]) as stranger:
        for each in state["processes"].values():
            each["pid"] = stranger.pid
        (trial.folder / "state.json").write_text(json.dumps(state))
        assert "nothing is running" in trial.run("--stop").stderr
        assert stranger.poll() is None
        stranger.kill()
    assert not any(map(has_ended, servers))


def test_help_needs_nothing_but_python_and_names_each_option(trial: Trial) -> None:
    run = subprocess.run(
        [sys.executable, "-S", str(trial.home / "secure_cluster.py"), "--help"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    for option in ("--dir", "--port", "--ssl-port", "--zookeeper-port", "--status", "--stop", "--help"):
        assert f"{option} " in run.stdout


@pytest.mark.parametrize("options", ["--prot 1", "--port 0", "--port 70000", "--status --stop", "--stop --port 1"])
def test_wrong_options_are_refused(
    options: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)
    secure_cluster = importlib.import_module("secure_cluster")
    with pytest.raises(SystemExit) as ended:
        secure_cluster.main(options.split())
    assert ended.value.code == 2 and "secure-cluster.sh: error: " in capsys.readouterr().err
