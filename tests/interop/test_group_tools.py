"""Tools for groups and records: one life of a cluster read alike in Apache's tools and in ours, on both brokers.

What Apache's tools printed on Apache's broker is written down; that they still do, on our broker too, is seen with
--full. What is wrong with a command line by itself is in tests/golden/tools/console-refusals.jsonl.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.interop.tools import group_lines, group_states
from tests.interop.tools.group_lines import LIVES, written_down
from tests.support import masks
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

BROKERS = {"apache": ApacheBroker, "ours": OurBroker}


@contextmanager
def filled(kind: str, zookeeper: ZooKeeperServer, folder: Path) -> Iterator[str]:
    """A broker with groups in every state: where it listens."""
    broker = BROKERS[kind](folder, fresh_chroot(zookeeper, folder.name), broker_id=1).start()
    try:
        group_states.fill(broker.bootstrap)
        with group_states.members(broker.bootstrap):
            yield broker.bootstrap
    finally:
        broker.stop()


def test_our_tools_print_on_our_broker_what_apaches_printed_on_theirs(
    zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    with filled("ours", zookeeper, tmp_path) as bootstrap:
        found = {life.tool: life.differences(written_down(life), life.of_ours(bootstrap)) for life in LIVES.values()}
    assert not any(found.values()), "\n".join(found.values())


@pytest.mark.slow
@pytest.mark.parametrize("kind", BROKERS)
def test_both_tools_print_what_was_written_down(kind: str, zookeeper: ZooKeeperServer, tmp_path: Path) -> None:
    with filled(kind, zookeeper, tmp_path) as bootstrap:
        for life in LIVES.values():
            known = written_down(life)
            theirs = life.differences(known, life.of_apache(bootstrap, tmp_path))
            assert not theirs, theirs
            ours = life.differences(known, life.of_ours(bootstrap))
            assert not ours, ours


def test_what_is_masked_occurs(pytestconfig: pytest.Config) -> None:
    masks.skip_unless_whole(pytestconfig)
    assert masks.needless(group_lines.MASKS) == []
