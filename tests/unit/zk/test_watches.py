"""What a lost connection does to watches."""

from __future__ import annotations

import pytest

from kafka_zk.zk.operations import Create, SetData, Stat
from kafka_zk.zk.watches import Kind, Side, Watch, Watches
from tests.simulation.model_kazoo import zk_client
from tests.simulation.model_zookeeper import ModelZooKeeper


def stat(mzxid: int = 1, pzxid: int = 1) -> Stat:
    return Stat(1, mzxid, 0, 0, 0, 0, 0, 0, 0, 0, pzxid)


def watch_that_saw(seen: Stat | None, side: Side = Side.DATA) -> Watch:
    watch = Watch("/x", side)
    watch.saw(seen, connection=1)
    return watch


def test_an_unchanged_znode_is_not_reported_after_a_reconnect() -> None:
    assert not watch_that_saw(stat(mzxid=4)).set_again(stat(mzxid=4), connection=2)
    assert not watch_that_saw(None).set_again(None, connection=2)


def test_a_znode_changed_created_or_deleted_meanwhile_is_reported() -> None:
    assert watch_that_saw(stat(mzxid=4)).set_again(stat(mzxid=5), connection=2)
    assert watch_that_saw(None).set_again(stat(mzxid=5), connection=2)
    assert watch_that_saw(stat(mzxid=4)).set_again(None, connection=2)


def test_children_are_compared_by_the_parents_pzxid() -> None:
    children = watch_that_saw(stat(mzxid=4, pzxid=6), Side.CHILDREN)
    assert not children.set_again(stat(mzxid=9, pzxid=6), connection=2)
    assert children.set_again(stat(mzxid=9, pzxid=7), connection=3)


def test_a_read_on_a_new_connection_does_not_hide_the_change_from_the_other_listeners() -> None:
    watch = watch_that_saw(stat(mzxid=4))
    watch.saw(stat(mzxid=5), connection=2)
    assert watch.set_again(stat(mzxid=5), connection=2)


def test_data_and_exists_are_one_watch_and_children_another() -> None:
    watches = Watches()
    told: list[str] = []
    watches.add("/x", "data", lambda: told.append("data"))
    watches.add("/x", "exists", lambda: told.append("exists"))
    watches.add("/x", "children", lambda: told.append("children"))
    data = watches.find("/x", Side.DATA)
    assert data is not None
    data.notify()
    assert told == ["data", "exists"]


def test_removing_one_kind_keeps_the_other() -> None:
    watches = Watches()
    watches.add("/x", "data", lambda: None)
    watches.add("/x", "children", lambda: None)
    watches.remove("/x", "data")
    assert [watch.side for watch in watches] == [Side.CHILDREN]
    watches.remove("/x", None)
    assert list(watches) == []


@pytest.mark.parametrize("kind", ["data", "exists", "children"])
def test_a_watch_whose_connection_went_amid_the_other_reads_is_set_anew(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ModelZooKeeper()
    client = zk_client(server, monkeypatch)
    told: list[str] = []
    paths = ["/a", "/b", "/c"]
    for path in paths:
        server.ensure(path)
        client.watch(path, kind, lambda path=path: told.append(path))  # type: ignore[misc]
    lost = iter(["/b"])
    server.cut_read = lambda path: path == "/b" and next(lost, None) is not None
    {"data": client.get_many, "exists": client.exists_many, "children": client.children_many}[kind](paths)
    for path in paths:
        server.apply(0, [Create(f"{path}/child") if kind == "children" else SetData(path, b"new")])
    client.close()
    assert told == paths
