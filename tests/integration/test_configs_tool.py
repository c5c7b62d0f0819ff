"""kafka-configs.sh: each command line answered by our tool, with our broker, as Apache's answered it with Apache's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.tools.configs.__main__ import main
from tests.interop.tools.configs_lines import GOLDEN, MASKS, SECRET, create_topics, plain, write_files
from tests.interop.tools.runs import run_once
from tests.support import masks
from tests.support.allowed import allowed
from tests.support.apache import ToolRun
from tests.support.broker import OurBroker
from tests.support.masks import Excuse
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
        return plain(run_once(main, [word.replace("<F>", str(self.folder)) for word in words]), self.places)


def _is_listed_alike(theirs: ToolRun, ours: ToolRun) -> bool:
    """Whether what ZooKeeper listed is the same but for its order."""
    texts = (theirs.stdout, ours.stdout), (theirs.stderr, ours.stderr)
    return theirs.exit_code == ours.exit_code and all(
        sorted(their.splitlines()) == sorted(our.splitlines())
        and (their == our or their.startswith("Warning: --zookeeper"))
        for their, our in texts
    )


EXCUSES = (Excuse("the order of a list", allowed("order-of-zookeeper"), _is_listed_alike),)


@pytest.fixture(scope="module")
def scene(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    made = Scene(tmp_path_factory.mktemp("configs-tool"), fresh_chroot(zookeeper, "configs-tool"))
    yield made
    made.broker.stop()


def check(scene: Scene, row: dict[str, Any]) -> None:
    expected = ToolRun(row["exit"], row["out"], row["err"])
    if "--describe" in row["args"]:
        # A broker hears of its changes a moment later.
        last: list[ToolRun] = []

        def is_equal() -> bool:
            last[:] = [scene.run(row)]
            return last[0] == expected or masks.excused(EXCUSES, expected, last[0])

        try:
            wait_until(is_equal, " ".join(row["args"]), timeout_s=60)
        except AssertionError:
            assert last[0] == expected, row["args"]
    else:
        found = scene.run(row)
        assert found == expected or masks.excused(EXCUSES, expected, found), row["args"]


def test_one_life_of_a_cluster(scene: Scene) -> None:
    for row in BEFORE:
        check(scene, row)
    scene.broker.stop()
    for row in AFTER:
        check(scene, row)
    assert masks.needless((*MASKS, *EXCUSES)) == []
