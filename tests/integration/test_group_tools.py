"""Tools for groups and records that are told to stop while they wait for a broker."""

from __future__ import annotations

import signal
import socket
import sys
from pathlib import Path

import pytest

from tests.support.processes import is_asleep, piped, wait_until

PATIENCE_S = 30
RECORDS = Path(__file__).parents[1] / "golden" / "tools" / "delete-records" / "orders.json"
WAITING = {
    "consumer_groups": ("--list", "--timeout", "60000"),
    "delete_records": ("--offset-json-file", str(RECORDS)),
    "streams_application_reset": ("--application-id", "a"),
}


@pytest.mark.parametrize("tool", WAITING)
def test_ctrl_c_ends_a_tool_that_waits_without_a_word(tool: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(PATIENCE_S)
        words = ["--bootstrap-server", f"127.0.0.1:{silent.getsockname()[1]}", *WAITING[tool]]
        with piped([sys.executable, "-P", "-m", f"kafka_zk.tools.{tool}", *words]) as process:
            connection, _ = silent.accept()
            with connection:
                assert connection.recv(4), "it asks for the versions"
                wait_until(lambda: is_asleep(process.pid), "it waits for the answer", PATIENCE_S)
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (128 + signal.SIGINT, "")
