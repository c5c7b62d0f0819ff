"""Random lives of one partition on a disk that fails, each from a seed: how it begins, when it breaks, what is left.

A run is a few lives, one after another, on what the last one left: the broker starts, works, and is killed, loses
power, or finds its disk broken, at a moment drawn from the seed (while it starts, too). After each,
`checks.check_recovered` compares what the next start finds with the `History`.
"""

from __future__ import annotations

import errno
import random
import shutil
import traceback
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from kafka_zk.clock import SimClock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.topic import LogConfig
from kafka_zk.log.manager import LogManager
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.metrics.registry import MetricsRegistry
from kafka_zk.protocol.errors import KafkaStorageError
from tests.crash import checks
from tests.crash.brokers import broker_on
from tests.crash.forgetful_disk import Fate, ForgetfulDisk, PowerCut
from tests.crash.forgetful_helper import ForgetfulHelper
from tests.crash.greenlets import Greenlets
from tests.crash.history import History
from tests.crash.inline_pools import InlinePools
from tests.unit.log.given import T0, TP, topic_config

LIVES = 3
"""A start after a broken start after a broken start has shown all that was ever found."""

TOPIC_ID = UUID(int=7)
FATES = (Fate.KEPT, Fate.LOST, Fate.MIXED, Fate.MIXED, Fate.MIXED)


class Life:
    """One seed. `trace` says what was done, for whoever has to understand a failure."""

    def __init__(self, seed: int, folder: Path, *, syncs_at_once: bool = False) -> None:
        self.chance = random.Random(seed)
        self.folder = folder
        self.trace: list[str] = []
        self.history = History()
        self.config = self._config()
        self.epoch = 0
        self.number = 0
        self.required_end = self.answered_end = self.synced_end = 0
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.disk = ForgetfulDisk(folder, syncs_at_once=syncs_at_once)
        self._steps, self._weights = zip(*self._actions().items(), strict=True)

    def go(self) -> None:
        """Raises AssertionError with the trace."""
        try:
            for _ in range(LIVES):
                self._end_life(self._live())
            self.disk.arm(self.chance)
            self._start()
            self.manager.shutdown()
            self._leave()
        except BaseException as error:
            error.add_note("\n".join(self.trace[-60:]))
            raise
        finally:
            self.disk.end()

    def _broker(self) -> BrokerConfig:
        return broker_on(self.folder)

    def _config(self) -> LogConfig:
        chance = self.chance
        return topic_config(
            segment_bytes=chance.choice([260, 400, 400, 900]),
            index_interval_bytes=chance.choice([0, 60, 150]),
            segment_index_bytes=chance.choice([60, 200]),
            retention_bytes=chance.choice([-1, 1500]),
            flush_messages=chance.choice([1, 4, 1 << 40, 1 << 40]),
            preallocate=chance.random() < 0.2,
            file_delete_delay_ms=1000,
        )

    # One life

    def _live(self) -> Fate:
        """Start, work, break; what becomes of what was not synced."""
        chance = self.chance
        self.manager: LogManager | None = None
        self.log: UnifiedLog | None = None
        fate = chance.choice(FATES)
        self._arm(while_starting=True)
        try:
            self._start()
            self._arm(while_starting=False)
            self._work(chance.randrange(5, 45))
        except PowerCut:
            self._say(f"power cut: {fate.value}")
        except KafkaStorageError as error:
            assert self.disk.has_ever_failed, error
            fate = chance.choice([fate, Fate.KEPT])
            self._say(f"disk failed: {error}; {fate.value}")
        else:
            self._say(f"the end: {fate.value}")
        return fate

    def _arm(self, *, while_starting: bool) -> None:
        chance, calls = self.chance, self.chance.randrange(1, 30 if while_starting else 120)
        kind = chance.random()
        if while_starting and kind < 0.6:
            self.disk.arm(chance)
        elif kind < 0.8:
            self.disk.arm(chance, cut_at=calls)
        else:
            self.disk.arm(chance, fail_at=calls, error=chance.choice([errno.EIO, errno.ENOSPC]))

    def _start(self) -> None:
        self.greenlets = Greenlets()
        self.clock = SimClock(wall_ms=T0 + self.number * 10)
        self.metrics = MetricsRegistry(self.clock)
        self.manager = LogManager(
            config=self._broker(),
            topic_config=lambda topic: self.config,
            clock=self.clock,
            metrics=self.metrics,
            on_log_dir_failure=self._log_dir_failed,
            disk=self.disk,
            pools=InlinePools(self.chance),
            chance=self.chance,
            helper_named=lambda name: ForgetfulHelper(self.disk),
        )
        self.manager.startup()
        self.log = self._find_log()
        if self.log is None:
            self.log = self.manager.get_or_create_log(TP, topic_id=TOPIC_ID, is_new=True)
            self.manager.wait_for_syncs()
        self._say(f"started: {self.log!r} recovery point {self.log.recovery_point}")
        self._check_recovered()
        self.answered_end = self.history.end
        self.epoch = max(self.epoch, self.log.latest_epoch, 0)

    def _find_log(self) -> UnifiedLog | None:
        """What the start has found. Raises KafkaStorageError."""
        return self._manager.get_log(TP)

    def _check_recovered(self) -> None:
        """What must hold does; from here on that is the history."""
        log = self._log
        checks.check_recovered(log, self.history, self.required_end, self.chance)
        self.history.adopt(
            checks.batches_in(log),
            start=log.log_start_offset,
            end=log.log_end_offset,
            high_watermark=log.high_watermark,
            is_decided=not self.disk.has_past,
        )

    def _work(self, steps: int) -> None:
        for _ in range(steps):
            step: Callable[[], None] = self.chance.choices(self._steps, self._weights)[0]
            step()
            if self.disk.is_off:
                raise PowerCut
            self.answered_end = self.history.end
            assert self.log is not None
            if self.log.log_dir.is_offline:
                raise KafkaStorageError("offline in the background")

    def _end_life(self, fate: Fate) -> None:
        """The broker is gone; what the disk keeps is decided."""
        log, before = self.log, self.disk
        before.end()
        if log is not None:
            self.synced_end = log.recovery_point
        if fate is not Fate.KEPT:
            self.answered_end = min(self.answered_end, self.synced_end)
        self.required_end = min(self.answered_end if fate is Fate.KEPT else self.synced_end, self.history.end)
        if log is not None:
            self._say(f"left: {log!r} recovery point {log.recovery_point}, required up to {self.required_end}")
        self._leave()
        if fate is Fate.KEPT:
            self.disk = before.in_next_process()
        else:
            self.disk = before.after_power_cut(fate, self.chance)

    def _leave(self) -> None:
        assert self.manager is not None
        self.greenlets.end()
        for each in [*self.manager.all_logs(), *self.manager.future.all()]:
            each.close_files()
        self.manager.release()

    def _log_dir_failed(self, path: str) -> None:
        """Called where the error is handled: the trace says which one it was and where it came from."""
        self._say(traceback.format_exc())

    def _say(self, text: str) -> None:
        self.trace.append(text)

    def _actions(self) -> dict[Callable[[], None], int]:
        """The steps of a life, and how often each is taken beside the others."""
        raise NotImplementedError

    @property
    def _log(self) -> UnifiedLog:
        assert self.log is not None
        return self.log

    @property
    def _manager(self) -> LogManager:
        assert self.manager is not None
        return self.manager
