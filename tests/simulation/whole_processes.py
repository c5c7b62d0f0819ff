"""Which greenlet belongs to which process: one that is killed ends with all its greenlets, at once, wherever they wait.

A greenlet belongs to the process that spawned it. What is spawned by the loop's own greenlet (a timer of a clock that
was moved, the start of a broker) belongs to the process that acts at the moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import gevent
from gevent import Greenlet


class Process:
    """One run of a program. `is_over`: nothing that it does has an effect any more."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_over = False
        self.greenlets: list[Greenlet[..., Any]] = []

    def __repr__(self) -> str:
        return self.name


class Processes:
    def __init__(self) -> None:
        self._owners: WeakKeyDictionary[Greenlet[..., Any], Process] = WeakKeyDictionary()
        self._acting: dict[object, Process] = {}
        """By greenlet, for whom it acts."""
        self._note = self._spawned
        Greenlet.add_spawn_callback(self._note)

    def close(self) -> None:
        Greenlet.remove_spawn_callback(self._note)

    def _spawned(self, greenlet: Greenlet[..., Any]) -> None:
        spawner = gevent.getcurrent()
        owner = self._acting.get(spawner) or self._owners.get(spawner)
        if owner is not None:
            self._owners[greenlet] = owner
            owner.greenlets.append(greenlet)
            if len(owner.greenlets) > 400:
                owner.greenlets = [each for each in owner.greenlets if not each.dead]

    @contextmanager
    def acting(self, process: Process) -> Iterator[None]:
        """What this greenlet spawns in between belongs to `process`."""
        actor = gevent.getcurrent()
        before = self._acting.get(actor)
        self._acting[actor] = process
        try:
            yield
        finally:
            del self._acting[actor]
            if before is not None:
                self._acting[actor] = before

    def spawn(self, process: Process, work: Callable[..., Any], *arguments: Any) -> None:
        if not process.is_over:
            with self.acting(process):
                gevent.spawn(work, *arguments)

    def kill(self, process: Process) -> None:
        """Blocks. Ends its greenlets. Raises the error of one that ended by a fault of ours."""
        process.is_over = True
        ending, process.greenlets = process.greenlets, []
        gevent.killall(ending)
        for each in ending:
            if each.exception is not None:
                raise each.exception
