"""A move between log directories that begins while the broker's configuration changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import gevent
from gevent.threadpool import ThreadPool

from kafka_zk.log.pools import LogPools
from kafka_zk.protocol.types import TopicPartition
from tests.unit.log.given import manager_on, topic_config

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
    moving = gevent.spawn(manager.create_future_log, log.topic_partition, str(target))
    gevent.joinall([changing, moving], raise_error=True)
    copy = manager.get_future_log(log.topic_partition)
    assert copy is not None
    assert (log.config.retention_ms, copy.config.retention_ms) == (5, 5)
    manager.shutdown()
