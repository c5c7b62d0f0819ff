"""kafka-configs.sh: each command line answered by our tool, with our broker, as Apache's answered it with Apache's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.tools.configs import main
from tests.interop.tools.configs_lines import GOLDEN, SECRET, create_topics, plain, write_files
from tests.interop.tools.runs import run_once
from tests.support.apache import ToolRun
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

ROWS: list[dict[str, Any]] = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
BEFORE, AFTER = [row for row in ROWS if row["part"] != "stopped"], [row for row in ROWS if row["part"] == "stopped"]


class Scene:
    def __init__(self, folder: Path, connect: str) -> None:
        self.folder = folder
        write_files(folder)
        self.broker = OurBroker(folder / "broker", connect, broker_id=1, overrides=SECRET).start()
        self.places = {"B": self.broker.bootstrap, "Z": connect, "F": str(folder)}
        create_topics(self.broker.bootstrap)

    def run(self, row: dict[str, Any]) -> ToolRun:
        words = [self.places.get(word[1:-1], word) if word[:1] == "<" else word for word in row["args"]]
        found = plain(run_once(main, [word.replace("<F>", str(self.folder)) for word in words]), self.places)
        return ToolRun(found.exit_code, _comparable(found.stdout), _comparable(found.stderr))


def _comparable(text: str) -> str:
    """What ZooKeeper lists comes in no order."""
    lines = text.splitlines()
    return "\n".join(sorted(lines) if text.startswith("Warning: --zookeeper") else lines)


@pytest.fixture(scope="module")
def scene(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    made = Scene(tmp_path_factory.mktemp("configs-tool"), fresh_chroot(zookeeper, "configs-tool"))
    yield made
    made.broker.stop()


def check(scene: Scene, row: dict[str, Any]) -> None:
    expected = ToolRun(row["exit"], _comparable(row["out"]), _comparable(row["err"]))
    if "--describe" in row["args"]:
        # A broker hears of its changes a moment later.
        last: list[ToolRun] = []

        def is_equal() -> bool:
            last[:] = [scene.run(row)]
            return last[0] == expected

        try:
            wait_until(is_equal, " ".join(row["args"]), timeout_s=10)
        except AssertionError:
            assert last[0] == expected, row["args"]
    else:
        assert scene.run(row) == expected, row["args"]


def test_one_life_of_a_cluster(scene: Scene) -> None:
    for row in BEFORE:
        check(scene, row)
    scene.broker.stop()
    for row in AFTER:
        check(scene, row)
