"""KafkaServer: one broker from startup to shutdown.

Role        Acts. The parts of a broker and their order are in parts.py.
Invariants  Whatever was started is stopped, in reverse order, also when the start fails half way or is interrupted.
Source      KafkaServer.startup and shutdown.
"""

from __future__ import annotations

import logging

import gevent
from gevent.event import Event
from greenlet import greenlet

from kafka_zk.broker.identity import IdentityMismatch
from kafka_zk.broker.metrics import BrokerState
from kafka_zk.broker.parts import Parts
from kafka_zk.clock import Clock, SystemClock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.errors import ConfigException
from kafka_zk.log.directory.data_dir import DirectoryInUse
from kafka_zk.log.loading.refusals import InvalidLogDirectory
from kafka_zk.protocol.errors import BrokerError

START_FAILURES = (
    BrokerError,
    ConfigException,
    IdentityMismatch,
    DirectoryInUse,
    InvalidLogDirectory,
    OSError,
)
"""Errors that prevent a start and are no bug of ours: their text is enough for the operator."""

log = logging.getLogger("kafka.server.KafkaServer")


class KafkaServer:
    """One broker. `startup`, then `await_shutdown`; `shutdown` may be called from any greenlet, once or twice."""

    def __init__(self, config: BrokerConfig, clock: Clock | None = None) -> None:
        self._parts = Parts(config, clock or SystemClock(), give_up=self.shutdown)
        self._starting: greenlet | None = None
        self._stopping = False
        self._stopped = Event()
        self._is_running = False

    def startup(self) -> None:
        """Blocks. Start and serve; raises the error that prevents it, with nothing left running.

        A `shutdown` meanwhile ends it: GreenletExit is raised.
        """
        self._starting = gevent.getcurrent()
        try:
            self._say("starting")
            self._parts.broker_metrics.state = BrokerState.STARTING
            self._parts.start()
        except BaseException:
            # GreenletExit, too: the greenlet that killed us waits until everything is stopped.
            self._starting = None
            self.shutdown()
            raise
        self._starting = None
        self._is_running = True
        self._parts.broker_metrics.state = BrokerState.RUNNING
        self._say("started")

    def shutdown(self) -> None:
        """Blocks. Stop everything that was started, in reverse order."""
        starting, self._starting = self._starting, None
        if starting is not None:
            # The start may wait for ZooKeeper, or recover logs, for minutes. It stops its own parts itself.
            gevent.kill(starting)
        if self._stopping or starting is not None:
            self._stopped.wait()
            return
        self._stopping = True
        self._say("shutting down")
        metrics = self._parts.broker_metrics
        if self._is_running:
            metrics.state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
            self._parts.leave_cluster()
        metrics.state = BrokerState.SHUTTING_DOWN
        self._parts.stops.stop_all(broker_id=self._parts.broker_id)
        self._is_running = False
        metrics.state = BrokerState.NOT_RUNNING
        self._say("shut down completed")
        self._stopped.set()

    def await_shutdown(self) -> None:
        """Blocks until `shutdown` has ended."""
        self._stopped.wait()

    def log_state(self) -> None:
        """Log what this broker is doing."""
        if self._is_running:
            self._say(f"State:\n{self._parts.describe()}\n")
        else:
            self._say("State: stopping" if self._stopping else "State: starting")

    def port(self) -> int:
        """The bound port of the first listener."""
        return self._parts.bound_port(self._parts.config.listeners[0].listener_name)

    def _say(self, text: str) -> None:
        log.info("[KafkaServer id=%d] %s", self._parts.broker_id, text)
