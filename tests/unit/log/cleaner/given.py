"""The small vocabulary of the cleaner's tests: a log that is cleaned here and now, and what it holds then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kafka_zk.log.cleaner.choosing import dirt_of
from kafka_zk.log.cleaner.cleaning import Cleaning
from kafka_zk.log.cleaner.segment_facts import facts_of
from kafka_zk.log.cleaner.settings import CleanerSettings
from kafka_zk.log.helper.process import Helper
from kafka_zk.log.helper.wire import Descriptor
from kafka_zk.log.manager import LogManager
from kafka_zk.log.unified_log import UnifiedLog

T = TypeVar("T")

SETTINGS = CleanerSettings(
    thread_count=1,
    table_slots=1 << 20,
    table_keys=1 << 19,
    buffer_bytes=262_144,
    bytes_per_second=float("inf"),
    backoff_ms=15_000,
)


class HereAndNow:
    """A helper that is this process. What it is given and what it answers is pickled all the same."""

    def __init__(self) -> None:
        self.calls = 0

    def call(self, task: Callable[..., T], *arguments: Any) -> T:
        self.calls += 1
        return carried(task(*carried(arguments)))

    def stop(self) -> None:
        pass


class Interrupted:
    """A helper that has something happen to the log in the middle of its cleaning, once."""

    def __init__(self, interrupt: Callable[[], None]) -> None:
        self.interrupt: Callable[[], None] | None = interrupt

    def call(self, task: Callable[..., Any], *arguments: Any) -> Any:
        if task.__name__ == "filter_chunk" and self.interrupt is not None:
            interrupt, self.interrupt = self.interrupt, None
            interrupt()
        return HereAndNow().call(task, *arguments)

    def stop(self) -> None:
        """There is no process."""


def interrupted(manager: LogManager, interrupt: Callable[[], None]) -> None:
    """In the next cleaning of this manager."""
    cleaner = manager._cleaner
    assert cleaner is not None
    cleaner._threads[0]._helper = Interrupted(interrupt)  # type: ignore[assignment]


def carried(message: T) -> T:
    """As it arrives at the other end."""
    import pickle

    held: list[Descriptor] = []

    class Out(pickle.Pickler):
        def persistent_id(self, obj: object) -> int | None:
            if isinstance(obj, Descriptor):
                held.append(obj)
                return len(held) - 1
            return None

    class In(pickle.Unpickler):
        def persistent_load(self, index: int) -> Descriptor:
            return held[index]

    import io

    file = io.BytesIO()
    Out(file).dump(message)
    file.seek(0)
    result: T = In(file).load()
    return result


def cleaning_of(
    log: UnifiedLog,
    checkpoint: int | None = None,
    *,
    settings: CleanerSettings = SETTINGS,
    helper: Helper | None = None,
    chunk_bytes: int = 1 << 20,
    rest_after: Callable[[int], None] = lambda size_bytes: None,
) -> Cleaning:
    now_ms = log.log_dir.clock.wall_ms()
    return Cleaning(
        log,
        dirt_of(facts_of(log), checkpoint, now_ms).offsets,
        log.truncations,
        cleaner_id=0,
        settings=settings,
        helper=helper or HereAndNow(),
        chunk_bytes=chunk_bytes,
        rest_after=rest_after,
    )


def clean(log: UnifiedLog, checkpoint: int | None = None, **options: Any) -> int:
    """Where the next cleaning begins."""
    return cleaning_of(log, checkpoint, **options).run()
