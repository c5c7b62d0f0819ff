"""The active controller: the state of one controller epoch.

Role        Built when this broker wins an election and dropped when it resigns, so that no state passes to the next
            controller epoch.
Invariants  Only the controller greenlet touches it. Every ZooKeeper write goes through `store`, which is fenced by
            the controller epoch.
Source      The parts that KafkaController.onControllerFailover sets up and onControllerResignation tears down.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from kafka_zk.clock import Clock, Timer
from kafka_zk.controller.channel import BrokerChannels
from kafka_zk.controller.decisions.context import ControllerContext
from kafka_zk.controller.decisions.versions import RequestVersions
from kafka_zk.controller.errors import RESIGNATION_ERRORS
from kafka_zk.controller.events import Event
from kafka_zk.controller.outbox import Outbox
from kafka_zk.controller.partition_machine import PartitionMachine
from kafka_zk.controller.replica_machine import ReplicaMachine
from kafka_zk.controller.settings import ControllerSettings
from kafka_zk.controller.store import FencedStore
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.zk.watches import Kind

log = logging.getLogger("kafka.controller.KafkaController")


@dataclass(slots=True)
class ActiveController:
    """The parts of the active controller; every event handler gets them."""

    settings: ControllerSettings
    generation: int
    """The ZooKeeper session in which this broker was elected."""
    versions: RequestVersions
    context: ControllerContext
    store: FencedStore
    channels: BrokerChannels
    outbox: Outbox
    partitions: PartitionMachine
    replicas: ReplicaMachine
    clock: Clock
    put: Callable[[Event], None]
    """Queue an event; safe from any greenlet, never blocks."""
    new_topic_id: Callable[[], uuid.UUID]
    """Makes a random id, for topics that older brokers created without one."""
    watched: dict[tuple[str, Kind], None] = field(default_factory=dict)
    """Used as an ordered set."""
    timers: list[Timer] = field(default_factory=list)

    @property
    def broker_id(self) -> int:
        return self.settings.broker_id

    def watch(self, path: str, kind: Kind, event: Event) -> None:
        """Queue `event` whenever `path` changes, until the controller stops. The next read of `path` sets the watch."""
        if (path, kind) in self.watched:
            return
        self.watched[path, kind] = None
        self.store.watch(path, kind, lambda: self.put(event))

    def unwatch(self, path: str, kind: Kind) -> None:
        if (path, kind) in self.watched:
            del self.watched[path, kind]
            self.store.unwatch(path, kind)

    def stop(self) -> None:
        """Tear down watches, timers and channels; nothing in the cluster changes."""
        for timer in self.timers:
            timer.cancel()
        for path, kind in self.watched:
            self.store.unwatch(path, kind)
        self.watched.clear()
        self.channels.stop()

    @contextmanager
    def contained(self, what: str) -> Iterator[None]:
        """Log an error in the block, so that it does not affect anything else. Raises RESIGNATION_ERRORS."""
        try:
            yield
        except RESIGNATION_ERRORS:
            raise
        except BrokerError as error:
            self.error(f"Failed {what}: {error}")

    def info(self, message: str) -> None:
        log.info("[Controller id=%d] %s", self.broker_id, message)

    def warning(self, message: str) -> None:
        log.warning("[Controller id=%d] %s", self.broker_id, message)

    def error(self, message: str) -> None:
        log.error("[Controller id=%d] %s", self.broker_id, message)

    def debug(self, message: str) -> None:
        log.debug("[Controller id=%d] %s", self.broker_id, message)
