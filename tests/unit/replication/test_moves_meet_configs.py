"""A move between log directories that begins or ends while the broker's configuration changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import gevent
from gevent.event import Event
from gevent.threadpool import ThreadPool

from kafka_zk.config.topic import LogConfig
from kafka_zk.log.pools import LogPools
from kafka_zk.protocol.types import TopicPartition
from tests.unit.log.given import manager_on, topic_config

from .moving import log_of, made_in, move, read_all, wait_for_move

T = TypeVar("T")


class AtOncePools(LogPools):
    """The loop does what threads would: a move is begun between two logs of a change."""

    def run_to_end(self, pool: ThreadPool, function: Callable[..., T], *arguments: object) -> T:
        return function(*arguments)


def test_a_copy_that_begins_while_the_defaults_change_follows_the_new_ones(tmp_path: Path) -> None:
    folders = tmp_path / "one", tmp_path / "other"
    configs = {"first": topic_config(), "moved": topic_config()}
    manager = manager_on(*folders, configs=configs, pools=AtOncePools())
    manager.startup()
    for topic in configs:
        log = manager.get_or_create_log(TopicPartition(topic, 0), topic_id=UUID(int=1), is_new=True)
    target = next(folder for folder in folders if folder != log.log_dir.path)
    configs.update(dict.fromkeys(configs, topic_config(retention_ms=5)))
    changing = gevent.spawn(manager.broker_config_changed, manager._config)
    moving = gevent.spawn(manager.future.create, log.topic_partition, str(target))
    gevent.joinall([changing, moving], raise_error=True)
    copy = manager.future.get(log.topic_partition)
    assert copy is not None
    assert (log.config.retention_ms, copy.config.retention_ms) == (5, 5)
    manager.shutdown()


def test_a_move_that_ends_while_the_defaults_change_leaves_the_new_ones(tmp_path: Path) -> None:
    """ZooKeeper is asked for the topic's overrides meanwhile."""
    folders, moved = (tmp_path / "one", tmp_path / "other"), TopicPartition("moved", 0)
    manager = manager_on(*folders)
    manager.startup()
    log = manager.get_or_create_log(moved, topic_id=UUID(int=1), is_new=True)
    target = next(folder for folder in folders if folder != log.log_dir.path)
    copy = manager.future.create(moved, str(target))
    is_asked, may_answer = Event(), Event()

    def topic_config_of(topic: str) -> LogConfig:
        is_asked.set()
        assert may_answer.wait(60)
        return topic_config(retention_ms=5)

    manager._topic_config = topic_config_of
    changing = gevent.spawn(manager.broker_config_changed, manager._config)
    assert is_asked.wait(60)
    with manager.future.swap(moved) as swap:
        assert swap is not None and swap.finish()
    may_answer.set()
    changing.get(timeout=60)
    assert manager.get_log(moved) is copy
    assert copy.config.retention_ms == 5
    manager.shutdown()


def test_a_log_that_is_deleted_while_the_defaults_change_is_not_asked_for(tmp_path: Path) -> None:
    """What ZooKeeper still has of its topic would be kept for the next one of the name."""
    manager, asked = manager_on(tmp_path / "one"), list[str]()
    manager.startup()
    for topic in ("first", "deleted"):
        manager.get_or_create_log(TopicPartition(topic, 0), topic_id=UUID(int=1), is_new=True)

    def topic_config_of(topic: str) -> LogConfig:
        asked.append(topic)
        if topic == "first":
            manager.delete_log(TopicPartition("deleted", 0))
        return topic_config()

    manager._topic_config = topic_config_of
    manager.broker_config_changed(manager._config)
    assert asked == ["first"]
    manager.shutdown()


def test_a_log_whose_segments_are_larger_than_they_may_be_now_is_moved(tmp_path: Path) -> None:
    broker = made_in(tmp_path, segment_bytes="100000")
    broker.lead()
    for _ in range(20):
        broker.produce(30)
    broker.log_manager.update_topic_config("t", topic_config(segment_bytes=2000))
    assert move(broker, tmp_path / "b") == 0
    wait_for_move(broker, tmp_path / "b")
    assert read_all(broker) == list(range(600))
    assert max(segment.size_bytes for segment in log_of(broker).segments) <= 2000
    broker.close()
