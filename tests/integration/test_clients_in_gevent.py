"""Our clients inside programs that run on gevent: patched from top to bottom, and not patched at all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from kafka_zk.tools.topics.__main__ import main as topics
from tests.interop.tools.runs import run_once
from tests.support.broker import OurBroker
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

PROGRAM = Path(__file__).with_name("clients_in_gevent.py")


def test_clients_work_in_a_gevent_loop_and_let_other_greenlets_run(zookeeper: ZooKeeperServer, tmp_path: Path) -> None:
    broker = OurBroker(tmp_path, fresh_chroot(zookeeper, "gevent")).start()
    try:
        for mode in ("patched", "plain"):
            words = ["--bootstrap-server", broker.bootstrap, "--create", "--topic", mode, "--partitions", "1"]
            assert run_once(topics, words).exit_code == 0
            patching = ["-m", "gevent.monkey"] if mode == "patched" else []
            command = [sys.executable, *patching, str(PROGRAM), mode, broker.bootstrap, mode]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, done.stderr
            found = json.loads(done.stdout)
            ticks = found.pop("ticks")
            assert found == {
                "offsets": True,
                "values": True,
                "nothing": True,
                "failure": "TimeoutException",
                "topic": True,
            }
            # Each waits for 0.3 s, and a tick takes 5 ms: one would be the switch at the end.
            assert min(ticks.values()) > 1, ticks
            assert "Traceback" not in done.stderr
    finally:
        broker.stop()
