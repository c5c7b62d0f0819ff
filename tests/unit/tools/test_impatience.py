"""Tools whose reader has gone, that are interrupted, or that are asked for help: silence, an end, the usage."""

from __future__ import annotations

import os
import pty
import signal
import socket
import subprocess
import sys

import pytest

from kafka_zk.tools.zookeeper_server_start import __main__ as zookeeper_server_start
from kafka_zk.tools.zookeeper_shell import __main__ as zookeeper_shell
from tests.support.processes import is_asleep, wait_until

TIMEOUT_S = 60

ENDLESS_PRODUCER = """
import os, traceback, types
from kafka_zk.client.producer import kafka_producer
class Acknowledging:
    def __init__(self, properties):
        pass
    def send(self, topic, value, *, key, timestamp_ms, callback):
        if int(value) > 5_000:  # many more than a pipe holds
            os._exit(9)
        try:
            callback(types.SimpleNamespace(topic=topic, partition=0, offset=0), None)
        except Exception:
            traceback.print_exc()  # as the sender's thread does
    def close(self, *_):
        pass
kafka_producer.KafkaProducer = Acknowledging
from kafka_zk.tools.verifiable_producer.__main__ import run
run()
"""


@pytest.mark.parametrize("where", ["| head -1", ">/dev/full"])
def test_a_verifiable_producer_that_nobody_reads_ends_in_silence(where: str) -> None:
    shell = f'"$0" -c "$1" --topic t --bootstrap-server b:1 {where}; exit "${{PIPESTATUS[0]}}"'
    done = subprocess.run(
        ["bash", "-c", shell, sys.executable, ENDLESS_PRODUCER], capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("where", [">/dev/full", "> >(true)"])
def test_a_zookeeper_shell_that_nobody_reads_ends_in_silence(where: str) -> None:
    shell = f'"$0" -m kafka_zk.tools.zookeeper_shell h:1 history {where}'
    done = subprocess.run(["bash", "-c", shell, sys.executable], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_stays_the_stream_on_which_python_edits_lines() -> None:
    program = (
        "import sys\nfrom kafka_zk.standard_streams import forgive\nforgive('stdout')\nprint(sys.stdout.fileno())\n"
    )
    ours, theirs = pty.openpty()
    try:
        subprocess.run([sys.executable, "-c", program], stdout=theirs, check=True, timeout=TIMEOUT_S)
        assert os.read(ours, 100).split() == [b"1"]
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_is_the_usage_and_no_server(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert zookeeper_shell.main([option]) == 0
    assert capsys.readouterr() == (f"{zookeeper_shell.SCRIPT_USAGE}\n", "")
    assert zookeeper_server_start.main([option]) == 0
    assert capsys.readouterr() == (f"{zookeeper_server_start.USAGE}\n", "")


def test_a_ctrl_c_while_no_zookeeper_answers_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-m", "kafka_zk.tools.configs", "--zookeeper", address, "--describe"]
        with subprocess.Popen(
            [*command, "--entity-type", "users"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as tool:
            silent.settimeout(TIMEOUT_S)
            connection, _ = silent.accept()
            with connection:
                connection.recv(1)
                wait_until(lambda: is_asleep(tool.pid), "it waits for the answer", TIMEOUT_S)
                tool.send_signal(signal.SIGINT)
                _, err = tool.communicate(timeout=TIMEOUT_S)
    assert (tool.returncode, err) == (130, "")
