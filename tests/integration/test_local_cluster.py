"""kafka-cluster-up, -restart, -down: what they refuse, and what they leave behind, with brokers that are none.

The real ones: test_local_cluster_live.py.
"""

from __future__ import annotations

import importlib
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.config.properties import read_file
from kafka_zk.tools.cluster_up.options import common_properties, parser
from kafka_zk.tools.common.broker_processes import broker_processes
from kafka_zk.tools.common.failures import Refused
from kafka_zk.tools.common.local_cluster.folder import ClusterFolder
from kafka_zk.tools.common.local_cluster.servers import PORT
from tests.support.processes import free_port, free_ports_in_a_row, wait_until

PROJECT = Path(__file__).parents[2]
# What a broker does is in a file: nothing (it serves), fail, hang, torn (it serves, and closes nothing at its end), or
# late, slow (its start, its end waits for a file).
# Nobody has to end it where the tool, against its promise, does not.
PYTHON = """#!/bin/sh
home=$(dirname "$0") folder=$(dirname "$6") name=$(basename "$(dirname "$6")")
does=$(cat "$home/$name.does" 2>/dev/null)
echo "[time] INFO starting (kafka.server.KafkaServer)"
if [ "$does" = fail ]; then
  echo "[time] ERROR Address already in use (kafka.Kafka)"
  echo "[time] ERROR Exiting Kafka (kafka.Kafka)"
  exit 1
fi
mkdir -p "$folder/data"
end() {
  [ "$does" != slow ] || until [ -e "$home/go" ]; do sleep 0.05; done
  [ "$does" = torn ] || touch "$folder/data/.kafka_cleanshutdown"
  echo "$name" >> "$home/stopped"
  exit 143
}
trap end TERM
[ "$does" != late ] || until [ -e "$home/go" ]; do sleep 0.05; done
[ "$does" = hang ] || { echo 1 > "$8.tmp"; mv "$8.tmp" "$8"; }
for _ in $(seq 6000); do sleep 0.05; done
"""
TOOL = "import sys; sys.executable = sys.argv.pop(1); from kafka_zk.tools.{} import __main__ as tool; tool.run()"
# In place of a cluster: all is in sync until the first broker was restarted, and then what is told here.
ANSWERS = """
from kafka_zk.tools.cluster_restart import command, replicas
class Answers(replicas.Asker):
    answers = [None]
    def controller(self, address):
        return 0
    def not_in_sync(self, broker_id, address):
        return self.answers.pop() if self.answers else {!r}
command.Asker = Answers
"""
IN_SYNC, BEHIND = ANSWERS.format(None), ANSWERS.format("t-0 is behind")


class Host:
    """The tools on a machine whose Python is only a broker's likeness."""

    def __init__(self, home: Path, zookeeper: str) -> None:
        self.home, self.folder, self.zookeeper = home, home / "brokers", zookeeper
        self.port = free_ports_in_a_row(3)
        (home / "python").write_text(PYTHON)
        (home / "python").chmod(0o755)

    def let(self, broker_id: int, does: str) -> None:
        (self.home / f"broker-{broker_id}.does").write_text(does)

    def begin(self, tool: str, *options: object, before: str = "") -> subprocess.Popen[str]:
        code = before + TOOL.format(f"cluster_{tool}")
        command = [sys.executable, "-c", code, str(self.home / "python"), "--folder", str(self.folder)]
        return subprocess.Popen(
            [*command, *map(str, options)], cwd=self.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, tool: str, *options: object, before: str = "") -> subprocess.CompletedProcess[str]:
        with self.begin(tool, *options, before=before) as begun:
            out, err = begun.communicate(timeout=120)
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(begun.args, begun.returncode, out, err)

    def up(self, count: int, *options: object) -> subprocess.CompletedProcess[str]:
        known = () if self.folder.exists() else ("--zookeeper", self.zookeeper, "--port", self.port)
        return self.run("up", count, *known, *options)

    def running(self) -> dict[int, int]:
        """Process ids by broker id, by /proc."""
        found = {}
        for each in broker_processes():
            if each.properties is not None and self.folder in each.properties.parents:
                found[int(each.properties.parent.name.removeprefix("broker-"))] = each.pid
        return found

    def stopped(self) -> list[str]:
        """The brokers that were asked to stop, in this order."""
        return (self.home / "stopped").read_text().split() if (self.home / "stopped").exists() else []


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with socket.create_server(("127.0.0.1", 0)) as zookeeper:
        made = Host(tmp_path.resolve(), f"127.0.0.1:{zookeeper.getsockname()[1]}")
        yield made
    for pid in made.running().values():
        os.kill(pid, signal.SIGKILL)


def test_it_starts_what_is_missing_and_stops_one_after_the_other(host: Host) -> None:
    first = host.up(2)
    assert (first.returncode, first.stderr) == (0, "")
    before = host.running()
    assert sorted(before) == [0, 1]
    # What was given once holds: neither ZooKeeper nor port is named again.
    assert host.up(3, "--override", "num.partitions=7").stdout.splitlines() == [
        f"Start broker 2 on port {host.port + 2}",
        *(f"broker {id} was running already: {host.folder}/broker-{id}" for id in (0, 1)),
        f"broker 2 serves on port {host.port + 2}: {host.folder}/broker-2",
        *(
            f"broker {id} takes the change of num.partitions at its next start: kafka-cluster-restart.sh"
            for id in (0, 1)
        ),
        f"Stop them with: kafka-cluster-down.sh --folder {host.folder}",
    ]
    assert {**host.running(), **before} == host.running() and len(host.running()) == 3
    properties = [read_file(host.folder / f"broker-{id}" / "server.properties") for id in range(3)]
    assert {each["broker.rack"] for each in properties} == {socket.gethostname()}
    assert {each["num.partitions"] for each in properties} == {"7"}
    assert stat.S_IMODE((host.folder / "broker-0" / "server.properties").stat().st_mode) == 0o600
    assert "starting" in (host.folder / "broker-2" / "logs" / "kafkaServer.out").read_text()
    down = host.run("down")
    assert (down.returncode, down.stderr) == (0, "")
    assert host.stopped() == ["broker-2", "broker-1", "broker-0"]
    assert host.running() == {}
    again = host.run("down")
    assert (again.returncode, again.stderr) == (1, f"kafka-cluster-down: nothing is running in {host.folder}\n")


def test_a_broker_that_was_killed_is_started_again_alone(host: Host) -> None:
    host.up(2)
    before = host.running()
    os.kill(before[0], signal.SIGKILL)
    wait_until(lambda: 0 not in host.running(), "it is gone")
    assert host.up(2).returncode == 0
    assert host.running()[1] == before[1] and 0 in host.running()


def test_a_broker_that_an_earlier_run_left_starting_is_waited_for(host: Host) -> None:
    host.let(0, "late")
    with host.begin("up", 1, "--zookeeper", host.zookeeper, "--port", host.port) as begun:
        wait_until(lambda: 0 in host.running(), "it starts")
        begun.kill()
    run = host.up(1, "--timeout", 0)
    assert run.returncode == 1
    assert "broker 0, which was starting already, does not serve after 0 s: see " in run.stderr
    assert 0 in host.running(), "another run has started it"
    (host.home / "go").touch()
    run = host.up(1)
    assert run.returncode == 0 and "broker 0 was running already" in run.stdout


def test_a_port_that_is_taken_is_named_before_anything_starts(host: Host) -> None:
    with socket.create_server(("127.0.0.1", host.port + 1)):
        run = host.up(3)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == f"kafka-cluster-up: port {host.port + 1} of broker 1 is taken by another program\n"
    assert host.running() == {}


def test_a_broker_that_cannot_start_is_told_with_its_reason_and_nothing_new_runs_on(host: Host) -> None:
    host.up(1)
    before = host.running()
    host.let(2, "fail")
    run = host.up(3)
    assert run.returncode == 1
    assert run.stderr == (
        "kafka-cluster-up: broker 2 ended with exit code 1: [time] ERROR Address already in use (kafka.Kafka)\n"
        f"All that it said is in {host.folder}/broker-2/logs/kafkaServer.out\n"
    )
    assert host.running() == before and host.stopped() == ["broker-1"]


def test_a_broker_that_takes_too_long_is_named(host: Host) -> None:
    host.let(0, "hang")
    run = host.up(1, "--timeout", 0)
    told = f"broker 0 has not started after 0 s: see {host.folder}/broker-0/logs/kafkaServer.out"
    assert (run.returncode, run.stderr) == (1, f"kafka-cluster-up: {told}\n")
    assert host.running() == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_the_start_stops_what_was_started(host: Host, number: signal.Signals) -> None:
    host.let(1, "hang")
    with host.begin("up", 2, "--zookeeper", host.zookeeper, "--port", host.port) as begun:
        wait_until(lambda: (host.folder / "broker-0" / "port").exists() and 1 in host.running(), "both run")
        begun.send_signal(number)
        out, err = begun.communicate(timeout=120)
    assert begun.returncode == 128 + number
    assert err == "kafka-cluster-up: interrupted; nothing that it started is running\n"
    assert out.endswith("Stop broker 1\nStop broker 0\n")
    assert host.running() == {}


def test_a_zookeeper_that_does_not_answer_is_named(host: Host) -> None:
    run = host.run("up", 1, "--zookeeper", f"127.0.0.1:{free_port()}/kafka", "--port", host.port)
    assert run.returncode == 1 and run.stderr.startswith("kafka-cluster-up: no ZooKeeper accepts connections at 127.")
    assert host.running() == {}


def test_a_zookeeper_that_brokers_have_left_is_not_started_again(host: Host) -> None:
    host.up(1, "--no-start")
    left = ClusterFolder(host.folder).zookeeper_properties
    left.parent.mkdir()
    left.write_text("clientPortAddress=127.0.0.1\nclientPort=1\n")
    run = host.up(1)
    assert run.returncode == 0 and run.stdout.startswith("Start broker 0 on")


def test_two_runs_do_not_work_in_one_folder(host: Host) -> None:
    host.let(0, "hang")
    with host.begin("up", 1, "--zookeeper", host.zookeeper, "--port", host.port) as begun:
        wait_until(lambda: 0 in host.running(), "it starts")
        other = host.run("down")
        begun.terminate()
        begun.communicate(timeout=120)
    assert (other.returncode, other.stderr) == (1, f"kafka-cluster-down: another run is working in {host.folder}\n")


def test_a_broker_that_closed_nothing_is_named_when_all_are_down(host: Host) -> None:
    host.let(1, "torn")
    host.up(2)
    run = host.run("down")
    assert run.returncode == 1 and "not cleanly stopped, so the next start checks the logs: broker 1;" in run.stderr
    assert host.running() == {}


def test_ids_of_a_folder_stay(host: Host) -> None:
    host.up(1, "--first-id", 7, "--no-start")
    assert host.running() == {} and (host.folder / "broker-7" / "server.properties").exists()
    run = host.up(1, "--first-id", 3)
    assert (run.returncode, run.stdout) == (1, "")
    assert f"the brokers of {host.folder} have ids from 7 on, not from 3: give --first-id 7" in run.stderr


def test_a_folder_that_holds_something_else_is_left_as_it_is(host: Host) -> None:
    host.folder.mkdir()
    (host.folder / "letter").write_text("dear")
    run = host.run("up", 1, "--zookeeper", host.zookeeper)
    assert run.returncode == 1 and f"{host.folder} holds something else" in run.stderr
    assert [each.name for each in host.folder.iterdir()] == ["letter"]
    assert "there are no brokers in" in host.run("down").stderr


def test_brokers_that_do_not_answer_are_not_restarted(host: Host) -> None:
    host.up(2)
    before = host.running()
    (host.home / "client").write_text("default.api.timeout.ms=300\nrequest.timeout.ms=300\n")
    run = host.run("restart", "--timeout", 0, "--command-config", host.home / "client")
    assert run.returncode == 1
    assert "kafka-cluster-restart: after 0 s still broker 0 does not answer at localhost:1: " in run.stderr
    assert host.running() == before and host.stopped() == []


def test_a_restart_needs_brokers_and_a_listener_that_it_can_ask(host: Host) -> None:
    host.up(1)
    (host.home / "client").write_text("security.protocol=SASL_PLAINTEXT\n")
    run = host.run("restart", "--command-config", host.home / "client")
    assert run.returncode == 1 and "broker 0 has no listener that speaks SASL_PLAINTEXT: " in run.stderr
    host.run("down")
    run = host.run("restart")
    assert run.returncode == 1 and f"nothing is running in {host.folder}: kafka-cluster-up.sh starts it" in run.stderr


def test_brokers_are_restarted_in_turn_with_what_their_files_say_now(host: Host) -> None:
    host.up(2)
    before = host.running()
    run = host.run("restart", before=IN_SYNC)
    assert (run.returncode, run.stderr) == (0, "")
    # The controller is the last.
    assert run.stdout.splitlines() == [
        step for id in (1, 0) for step in (f"Stop broker {id}", f"Start broker {id}", f"broker {id} is in sync")
    ]
    assert host.stopped() == ["broker-1", "broker-0"]
    after = host.running()
    assert sorted(after) == [0, 1] and not {*after.values()} & {*before.values()}


def test_a_signal_during_a_restart_leaves_no_broker_stopped(host: Host) -> None:
    host.let(1, "slow")
    host.up(2)
    before = host.running()
    with host.begin("restart", before=BEHIND) as begun:
        assert begun.stdout is not None and begun.stdout.readline() == "Stop broker 1\n"
        begun.send_signal(signal.SIGINT)
        (host.home / "go").touch()
        out, err = begun.communicate(timeout=120)
    assert begun.returncode == 130 and out.removesuffix("Wait: t-0 is behind\n") == "Start broker 1\n"
    assert err == "kafka-cluster-restart: interrupted; each broker runs; not restarted: broker 0\n"
    after = host.running()
    assert after[0] == before[0] and after[1] != before[1]


def test_a_restart_ends_at_the_first_broker_that_does_not_come_back(host: Host) -> None:
    host.up(2)
    before = host.running()
    host.let(1, "fail")
    run = host.run("restart", before=IN_SYNC)
    assert run.returncode == 1 and "broker 1 ended with exit code 1: [time] ERROR Address already" in run.stderr
    assert host.running() == {0: before[0]}


SYSTEMCTL = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/asked"
[ "$1 $2" != "is-active kafka-zk@1.service" ] || exit 3
[ "$1 $2" != "restart kafka-zk@2.service" ] || { echo "Job for $2 failed." >&2; exit 1; }
"""


def test_units_of_systemd_are_restarted_by_systemctl(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.up(3, "--no-start")
    (host.home / "systemctl").write_text(SYSTEMCTL)
    (host.home / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{host.home}:{os.environ['PATH']}")
    run = host.run("restart", "--systemd", before=IN_SYNC)
    assert run.stdout == "Restart kafka-zk@2.service\n" and run.returncode == 1
    assert run.stderr == (
        "kafka-cluster-restart: systemctl restart kafka-zk@2.service failed: Job for kafka-zk@2.service failed.\n"
    )
    asked = (host.home / "asked").read_text().splitlines()
    assert asked == [*(f"is-active kafka-zk@{id}.service" for id in range(3)), "restart kafka-zk@2.service"]


def test_the_unit_of_systemd_starts_what_up_has_written(host: Host) -> None:
    host.up(1, "--first-id", 7, "--no-start")
    lines = (PROJECT / "packaging" / "systemd" / "kafka-zk@.service").read_text().splitlines()
    settings = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    script, file, option, port = settings["ExecStart"].replace("%i", "7").split()
    assert (PROJECT / script.removeprefix("/opt/kafka-zk/")).exists()
    assert option == "--port-file" and settings["User"] == "kafka" and settings["SuccessExitStatus"] == "143"
    at_home = {path.replace("/var/lib/kafka-zk", str(host.folder)) for path in (file, port)}
    # Where kafka-cluster-restart.sh and -down.sh look for them.
    folder = ClusterFolder(host.folder)
    assert at_home == {str(folder.properties_of(7)), str(folder.properties_of(7).with_name(PORT))}
    assert folder.properties_of(7).exists()


@pytest.mark.parametrize("tool", ["up", "restart", "down"])
def test_help_names_each_option(tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    main = importlib.import_module(f"kafka_zk.tools.cluster_{tool}.__main__").main
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    usage, _, described = out.partition("\n\n")
    for option in re.findall(r"--[a-z-]+", usage):
        assert f"\n  {option}" in described
    assert max(map(len, out.splitlines())) <= 120 and "exit codes: 0 done; 1 not done; 2 wrong options" in out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("", "the following arguments are required: N"),
        ("three", "argument N: 'three' is not a number"),
        ("-1", "error: "),
        ("0", "argument N: at least one broker"),
        ("3 --port x", "argument --port: 'x' is not a number"),
        ("3 --first-id -2", "error: argument --first-id"),
        ("3 --timeout 1m", "argument --timeout: '1m' is not a number"),
        ("3 --zoo zk:2181", "unrecognized arguments: --zoo"),
    ],
)
def test_wrong_options_are_told_with_the_usage(options: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    from kafka_zk.tools.cluster_up.__main__ import main

    assert main(options.split()) == 2
    err = capsys.readouterr().err
    assert err.startswith("usage: kafka-cluster-up.sh") and told in err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("3", "kafka-cluster-up: which ZooKeeper? Name it with --zookeeper"),
        ("3 --zookeeper zk:2181 --override nonsense", "kafka-cluster-up: Invalid command line properties: nonsense"),
        ("3 --zookeeper zk:2181 --config gone", "kafka-cluster-up: gone: No such file or directory"),
        ("3 --zookeeper zk:2181 --port 65535", "kafka-cluster-up: broker 1 would listen on port 65536"),
        ("3 --zookeeper zk:2181 --override log.cleaner.threads=x", "kafka-cluster-up: broker 0: Invalid value x"),
    ],
)
def test_what_cannot_be_is_told_in_one_line_and_nothing_is_made(
    options: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from kafka_zk.tools.cluster_up.__main__ import main

    monkeypatch.chdir(tmp_path)
    assert main(options.split()) == 1
    err = capsys.readouterr().err
    assert err.startswith(told) and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_options_change_single_properties_and_a_file_replaces_all(tmp_path: Path) -> None:
    def after(known: dict[str, str], line: str) -> dict[str, str]:
        return common_properties(parser().parse_args(["1", *line.split()]), known, tmp_path)

    known = after({}, "--zookeeper zk:1 --first-id 5 --port 7000 --override log.dirs=data")
    assert known == {
        "zookeeper.connect": "zk:1",
        "broker.id": "5",
        "listeners": "PLAINTEXT://:7000",
        "log.dirs": f"{tmp_path}/data",
    }
    assert after(known, "") == known
    assert after(known, "--port 8000") == {**known, "listeners": "PLAINTEXT://:8000"}
    assert after({"node.id": "1", "zookeeper.connect": "zk"}, "--first-id 2")["broker.id"] == "2"
    assert after({}, "--with-zookeeper") == {"zookeeper.connect": "127.0.0.1:2181"}
    with pytest.raises(Refused, match="which ZooKeeper"):
        after({"broker.id": "1"}, "")
