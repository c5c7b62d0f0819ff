"""CleanerThread: one cleaner, a greenlet with a helper process.

Role        Acts. Each round cleans the log that needs it most, then applies retention to the compacted logs;
            with nothing to clean, it waits.
Invariants  An error with one log affects no other: a disk error takes its directory offline; bad data and our own bugs
            make the partition uncleanable. The thread continues.
Source      Kafka 3.9 LogCleaner.CleanerThread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import gevent
from gevent.event import Event

from kafka_zk.clock import Clock
from kafka_zk.log.cleaner.cleaning import Cleaning
from kafka_zk.log.cleaner.errors import CleaningAborted, SegmentOverflow
from kafka_zk.log.cleaner.settings import CleanerSettings
from kafka_zk.log.cleaner.splitting import split_segment
from kafka_zk.log.cleaner.states import CannotChoose, CleanerStates, LogToClean
from kafka_zk.log.cleaner.stats import CleanerStats
from kafka_zk.log.cleaner.throttle import Throttle
from kafka_zk.log.helper.process import Helper, HelperFailed, HelperUnavailable
from kafka_zk.log.retention import delete_old_segments
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.supervision import caught, spawn_for_life

log_lines = logging.getLogger("kafka.log.LogCleaner")


class CleanerThread:
    """`last_stats` are those of the last completed cleaning."""

    def __init__(
        self,
        number: int,
        *,
        states: CleanerStates,
        settings: CleanerSettings,
        throttle: Throttle,
        clock: Clock,
        helper: Helper,
    ) -> None:
        self.last_stats = CleanerStats()
        self._number = number
        self._states = states
        self._settings = settings
        self._throttle = throttle
        self._clock = clock
        self._helper = helper
        self._stopping = Event()
        self._greenlet: gevent.Greenlet[..., None] | None = None

    def start(self) -> None:
        self._greenlet = spawn_for_life(f"kafka-log-cleaner-thread-{self._number}", self._run)

    def stop(self) -> None:
        """Blocks. Stop, aborting a cleaning in progress."""
        self._stopping.set()
        self._helper.stop()
        if self._greenlet is not None:
            self._greenlet.join()

    @property
    def is_dead(self) -> bool:
        """Whether the thread died without being stopped."""
        return self._greenlet is not None and self._greenlet.dead and not self._stopping.is_set()

    def work(self) -> bool:
        """Blocks. Run one round; returns whether a log was cleaned."""
        try:
            is_cleaned = self._clean_filthiest()
            self._delete_old_segments()
        except CannotChoose as error:
            self._give_up_on(error.log, error.__cause__ or error)
            is_cleaned = False
        self._states.drop_gone()
        return is_cleaned

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                is_cleaned = self.work()
            except Exception:
                # A bug of ours outside of any log: the next round may succeed.
                caught(f"kafka-log-cleaner-thread-{self._number}")
                is_cleaned = False
            if not is_cleaned:
                self._rest(self._settings.backoff_ms)

    def _clean_filthiest(self) -> bool:
        """Raises CannotChoose."""
        chosen = self._states.take_filthiest()
        if chosen is None:
            return False
        try:
            return self._clean(chosen)
        finally:
            self._states.done([chosen.log])

    def _clean(self, chosen: LogToClean) -> bool:
        """Returns whether another log may be tried at once."""
        log = chosen.log
        start = chosen.offsets.first_dirty_offset
        cleaning = Cleaning(
            log,
            chosen.offsets,
            chosen.truncations,
            cleaner_id=self._number,
            settings=self._settings,
            helper=self._helper,
            chunk_bytes=self._throttle.bytes_at_once(self._settings.buffer_bytes),
            rest_after=self._rest_after,
        )
        try:
            end = cleaning.run()
            # At once: a truncation from here on lowers the checkpoint again.
            self._guarded(log, self._states.cleaned, log, end)
            self._tell(cleaning.stats, str(log.topic_partition), start, end)
        except SegmentOverflow as error:
            log_lines.info("Cleaner %d: Caught segment overflow error during cleaning: %s", self._number, error)
            self._guarded(log, split_segment, log)
        except (CleaningAborted, KafkaStorageError):
            pass  # The log is fine, or its directory has already reported the error.
        except OSError as error:
            where = f"{log.topic_partition} in dir {log.log_dir.path}"
            log.log_dir.fail(f"Failed to clean up log for {where} due to IOException", error)
        except HelperUnavailable as error:
            # The log is fine: it stays the filthiest, and is retried.
            log_lines.warning("Cleaner %d: %s", self._number, error)
            return False
        except HelperFailed as error:
            if not self._stopping.is_set():
                self._give_up_on(log, error)
        except Exception as error:
            # Bad bytes, or a bug of ours that these bytes trigger: other logs must not be affected.
            self._give_up_on(log, error)
        return True

    def _delete_old_segments(self) -> None:
        deletable = self._states.take_deletable()
        try:
            for log in deletable:
                if self._stopping.is_set():
                    return
                self._guarded(log, delete_old_segments, log, self._clock.wall_ms())
                gevent.sleep(0)
        finally:
            self._states.done(deletable)

    def _guarded(self, log: UnifiedLog, work: Callable[..., object], *arguments: object) -> None:
        try:
            work(*arguments)
        except KafkaStorageError:
            pass  # The log is closed or its directory is offline, which was reported.
        except Exception as error:
            # As above: only this log is bad.
            self._give_up_on(log, error)

    def _give_up_on(self, log: UnifiedLog, error: BaseException) -> None:
        log_lines.warning(
            "Unexpected exception thrown when cleaning log %s. Marking its partition (%s) as uncleanable",
            log,
            log.topic_partition,
            exc_info=error,
        )
        self._states.mark_uncleanable(log)

    def _tell(self, stats: CleanerStats, name: str, start: int, end: int) -> None:
        self.last_stats = stats
        log_lines.info(stats.describe(self._number, name, start, end))
        if stats.keyless_count:
            log_lines.warning("\tFound %d invalid messages during compaction.", stats.keyless_count)

    def _rest_after(self, size_bytes: int) -> None:
        """Blocks while the cleaners together exceed their rate."""
        rest_ms = self._throttle.rest_after(size_bytes, self._clock.monotonic_ms())
        if rest_ms:
            self._rest(rest_ms)

    def _rest(self, duration_ms: int) -> None:
        """Blocks for that long, or until the stop."""
        rested = Event()
        timer = self._clock.call_at(self._clock.monotonic_ms() + duration_ms, rested.set)
        try:
            gevent.wait([rested, self._stopping], count=1)
        finally:
            timer.cancel()
