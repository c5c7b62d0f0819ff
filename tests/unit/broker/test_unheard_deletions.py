"""Topics that are deleted while a broker is away, which lives on: it finds out when it is told anything again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import gevent
import pytest

from kafka_zk.broker import unheard_deletions
from kafka_zk.broker.unheard_deletions import UnheardDeletions
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.errors import NoAuth
from kafka_zk.zk.operations import Delete
from tests.simulation.model_zookeeper import ModelZooKeeper
from tests.unit.replication.broker import Broker, answered, topic_id

AWAY, BACK = 77, 99
"""The epochs of two registrations of one broker."""


class Scene:
    """A broker that leads `t` and knows `kept`, over a ZooKeeper that has both."""

    def __init__(self, folder: Path) -> None:
        self.zookeeper = ModelZooKeeper().with_kafka_paths()
        self.zk: Any = self.zookeeper.client()
        self.broker = Broker(folder)
        self.unheard = UnheardDeletions(self.zk, self.broker.cache, self.broker.manager.leadership.forget_deleted)
        self.broker.manager.leadership.on_new_life(self.unheard.look_soon)
        self.unheard.start()
        self.create("t")
        self.create("kept")
        self.broker.update_metadata({"t": {0: 1}, "kept": {0: 2}})
        self.broker.lead()
        self.broker.produce(3)
        self.log_dir = folder / "t-0"

    def create(self, topic: str) -> None:
        self.zookeeper.ensure(f"/brokers/topics/{topic}", b"")

    def delete(self, topic: str) -> None:
        self.zookeeper.apply(0, [Delete(f"/brokers/topics/{topic}")])

    def hears_anew(self, topics: dict[str, dict[int, int]] | None = None, **epochs: int) -> None:
        self.broker.update_metadata(topics or {"kept": {0: 2}}, **(epochs or {"broker_epoch": BACK}))
        let_others_run()

    def known(self) -> list[str]:
        return sorted(self.broker.cache.all_topics())

    def meanwhile(self, happens: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
        """Once, after ZooKeeper has named its topics and before that is acted upon."""
        children, left = self.zk.children, [happens]

        def slow(path: str) -> Any:
            found = children(path)
            if left:
                left.pop()()
            return found

        monkeypatch.setattr(self.zk, "children", slow)

    def close(self) -> None:
        self.unheard.stop()
        self.broker.close()


def let_others_run() -> None:
    for _ in range(20):
        gevent.sleep(0)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("epochs", [{"broker_epoch": BACK}, {"controller_epoch": 2}], ids=["broker", "controller"])
def test_what_was_deleted_meanwhile_is_forgotten(scene: Scene, epochs: dict[str, int]) -> None:
    heard: list[TopicPartition] = []
    scene.broker.cache.on_change(lambda _, deleted: heard.extend(deleted))
    scene.delete("t")
    scene.hears_anew(**epochs)
    assert scene.known() == ["kept"]
    assert heard == [TopicPartition("t", 0)]
    assert scene.broker.cache.topic_name(topic_id("t")) is None


def test_who_led_it_leads_it_no_longer_and_keeps_its_files(scene: Scene) -> None:
    stopped: list[TopicPartition] = []
    scene.broker.manager.on_stop(lambda stops: stopped.extend(stop.topic_partition for stop in stops))
    scene.delete("t")
    scene.hears_anew()
    assert answered(scene.broker.produce(1)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert stopped == [TopicPartition("t", 0)]
    assert scene.log_dir.exists()


def test_the_next_topic_of_the_name_begins_empty(scene: Scene) -> None:
    scene.delete("t")
    scene.hears_anew()
    scene.broker.update_metadata({"t": {0: 1}}, id_of_topic=UUID(int=9), broker_epoch=BACK)
    assert scene.broker.order(id_of_topic=UUID(int=9)) == 0
    assert answered(scene.broker.produce(1)).base_offset == 0


def test_a_topic_whose_znodes_are_put_back_has_what_it_had(scene: Scene) -> None:
    scene.delete("t")
    scene.hears_anew()
    scene.broker.update_metadata({"t": {0: 1}}, broker_epoch=BACK)
    assert scene.broker.order(epoch=1, partition_epoch=1, is_new=False) == 0
    assert answered(scene.broker.produce(1)).base_offset == 3


def test_nobody_asks_zookeeper_while_life_goes_on(scene: Scene) -> None:
    scene.delete("t")
    scene.hears_anew(broker_epoch=AWAY)
    assert scene.known() == ["kept", "t"]


def test_a_topic_that_is_told_anew_during_the_look_stays(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.delete("t")

    def made_anew() -> None:
        scene.create("t")
        scene.broker.update_metadata({"t": {0: 2}}, id_of_topic=UUID(int=9), broker_epoch=BACK)

    scene.meanwhile(made_anew, monkeypatch)
    scene.hears_anew()
    assert scene.broker.cache.topic_id("t") == UUID(int=9)


def test_a_topic_that_is_ordered_anew_before_it_is_told_of_is_led_on(scene: Scene) -> None:
    looked_for = scene.broker.cache.topic("kept")
    assert looked_for is not None
    assert scene.broker.order("kept", id_of_topic=UUID(int=9)) == 0
    scene.broker.manager.leadership.forget_deleted([looked_for])
    scene.broker.update_metadata({"kept": {0: 1}}, id_of_topic=UUID(int=9), broker_epoch=BACK)
    assert scene.broker.partition("kept").is_leader


def test_what_an_old_order_tells_again_during_the_look_is_looked_for_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.delete("t")
    scene.meanwhile(lambda: scene.broker.update_metadata({"t": {0: 1}}, broker_epoch=BACK), monkeypatch)
    scene.hears_anew()
    assert scene.known() == ["kept"]


def test_a_topic_that_is_told_after_the_look_began_is_none_of_its(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def created() -> None:
        scene.create("new")
        scene.broker.update_metadata({"new": {0: 2}}, broker_epoch=BACK)

    scene.meanwhile(created, monkeypatch)
    scene.hears_anew()
    assert scene.known() == ["kept", "new", "t"]


def test_a_zookeeper_that_cannot_be_read_says_nothing_and_is_asked_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unheard_deletions, "RETRY_S", 0)
    seen: list[list[str]] = []

    def refuse() -> None:
        seen.append(scene.known())
        raise NoAuth("/brokers/topics")

    scene.delete("t")
    scene.meanwhile(refuse, monkeypatch)
    scene.hears_anew()
    assert (seen, scene.known()) == ([["kept", "t"]], ["kept"])


def test_a_look_that_ends_in_a_fault_of_ours_is_taken_again(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unheard_deletions, "RETRY_S", 0)
    scene.unheard.stop()
    scene.unheard.start()

    def fails() -> None:
        raise ZeroDivisionError

    scene.delete("t")
    scene.meanwhile(fails, monkeypatch)
    scene.hears_anew()
    assert scene.known() == ["kept"]
