"""Lives of a log that moves between two log directories, each of which forgets on its own what was not synced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.leadership import CatchUp
from kafka_zk.replication.log_dir_moves import LogDirMoves
from kafka_zk.replication.throttle import UNLIMITED
from tests.crash.brokers import moving_broker_on
from tests.crash.forgetful_disk import PowerCut
from tests.crash.plain_life import Run
from tests.unit.log.given import TP

NAMES = ("a", "b")


class MovingRun(Run):
    """The base life with moves, step by step as LogDirMoves makes them."""

    def __init__(self, seed: int, folder: Path, *, syncs_at_once: bool = False) -> None:
        super().__init__(seed, folder, syncs_at_once=syncs_at_once)
        for name in NAMES:
            self.disk.mkdir(folder / name)
        self.disk.sync_path(folder)

    def _broker(self) -> BrokerConfig:
        return moving_broker_on(self.folder)

    def _actions(self) -> dict[Callable[[], None], int]:
        return {**super()._actions(), self.begin_move: 6, self.copy_some: 16, self.call_off: 1}

    def _start(self) -> None:
        super()._start()
        # A controller never lets a broker that was away lead in the same epoch. By that a copy is cut that reaches
        # further than what a power cut has left of its log.
        self.epoch += 1

    def _find_log(self) -> UnifiedLog | None:
        """A life with one directory is the plain one's: it is over here."""
        if self.disk.is_off:
            raise PowerCut  # In the load of one directory, of which the other heard nothing.
        found = super()._find_log()
        if self._manager.offline_log_dirs():
            raise KafkaStorageError("a directory failed while the broker started")
        # Of the partition, a move needs no more than where its log is.
        hosted: Any = SimpleNamespace(get=lambda *_: SimpleNamespace(log=self._log), find=lambda *_: self._log)
        self._moves = LogDirMoves(
            hosted=hosted,
            log_manager=self._manager,
            put_in_place=self._put_in_place,
            count_at_once=1,
            bytes_per_second=lambda: UNLIMITED,
            clock=self.clock,
        )
        return found

    def _put_in_place(self, topic_partition: TopicPartition, catch_up: CatchUp) -> bool:
        with self._manager.future.swap(topic_partition) as swap:
            if swap is None or not catch_up(swap.before, swap.now) or not swap.finish():
                return False
            self._say(f"moved to {swap.now.log_dir.path.name}")
            self.log = swap.now
        return True

    def begin_move(self) -> None:
        if self._manager.future.get(TP) is None and not self._manager.offline_log_dirs():
            (target,) = (name for name in NAMES if name != self._log.log_dir.path.name)
            self._say(f"copy to {target}")
            self._manager.future.create(TP, str(self.folder / target))

    def copy_some(self) -> None:
        copy = self._manager.future.get(TP)
        if copy is not None:
            self._say(f"copy from {copy.log_end_offset} on")
            self._moves._copy_some(copy)

    def call_off(self) -> None:
        self._say("no copy any more")
        self._manager.future.drop(TP)
