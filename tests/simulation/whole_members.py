"""One broker of a simulated cluster, in one of its lives: its replicas, its controller, its session, its disk.

The classes are the broker's own. Models are what is beneath: connections, ZooKeeper, the disk, the clock, and the
channel that takes AlterPartition to the controller.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import gevent
from gevent.event import Event

from kafka_zk.config.endpoints import EndPoint
from kafka_zk.controller.loop import KafkaController
from kafka_zk.controller.settings import ControllerSettings
from kafka_zk.metadata.snapshot import Node
from kafka_zk.network.errors import NetworkError
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kafka_zk.zk.errors import SessionExpired
from kafka_zk.zk.registration import register_broker
from kafka_zk.zk.znodes import BrokerRegistration
from tests.crash.forgetful_disk import ForgetfulDisk, PowerCut
from tests.crash.inline_pools import InlinePools
from tests.simulation.whole_network import Connection, Network
from tests.simulation.whole_processes import Process, Processes
from tests.simulation.whole_zookeeper import Ensemble, LateZkClient
from tests.unit.replication.broker import LISTENER, Broker

ALTER_PARTITION_VERSION = 3
RETRY_MS = 50
LAG_MS = 1_500
"""replica.lag.time.max.ms."""


class Member:
    """`boot` registers it; until then, and once it leaves, nobody can connect to it."""

    def __init__(
        self,
        broker_id: int,
        *,
        folder: Path,
        disk: ForgetfulDisk,
        network: Network,
        processes: Processes,
        zookeeper: Ensemble,
        chance: random.Random,
        overrides: dict[str, str],
        new_topic_id: Callable[[], UUID],
    ) -> None:
        self.broker_id = broker_id
        self.network = network
        self.disk = disk
        self.process = Process(f"broker {broker_id}")
        self.is_listening = False
        self.is_frozen = False
        self.is_leaving = False
        """It was told to stop in order."""
        self.has_left = False
        """It stopped in order, and there is nothing left to do for it."""
        self._processes = processes
        self._epoch = -1
        with processes.acting(self.process):
            self.broker = Broker(
                folder,
                {
                    "log.dirs": str(folder),
                    "replica.fetch.backoff.ms": "100",
                    "replica.lag.time.max.ms": str(LAG_MS),
                    "replica.high.watermark.checkpoint.interval.ms": "700",
                    "log.cleaner.enable": "false",
                },
                {"segment.bytes": "900", "segment.index.bytes": "1000", "retention.ms": "-1", **overrides},
                broker_id=broker_id,
                connect=lambda node, _: self.connect(node),
                disk=disk,
                pools=InlinePools(chance),
                broker_epoch=lambda: self._epoch,
                chance=chance,
            )
            self.clock = self.broker.clock
            self.served = {each.request.name: each for each in self.broker.registry}
            self.proposals = Proposals(self)
            self.broker.controller = self.broker.manager._isr_changes._controller = self.proposals
            self.zk = LateZkClient(zookeeper, self)
            self.controller = KafkaController(
                settings=ControllerSettings(broker_id=broker_id, listener=LISTENER, auto_leader_rebalance_enable=False),
                zk=self.zk,  # type: ignore[arg-type]
                clock=self.clock,
                metrics=self.broker.metrics,
                connect=lambda endpoint, to: network.connect(to, broker_id, self.clock),
                metadata_cache=self.broker.cache,
                register_broker=self._register,
                new_topic_id=new_topic_id,
            )
            self.broker.services.controller = self.controller
            self.broker.services.zk = self.zk  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.process}@{self._epoch}"

    # --- life --------------------------------------------------------------------------------------------------------

    def spawn(self, work: Callable[..., Any], *arguments: Any) -> None:
        self._processes.spawn(self.process, work, *arguments)

    def boot(self) -> None:
        """Blocks. Register, listen, compete for the controller."""
        while True:
            generation = self.zk.generation
            try:
                self._register(generation)
                break
            except SessionExpired:
                gevent.sleep(0)
        self.controller.startup(generation)
        self.is_listening = True

    def _register(self, generation: int) -> None:
        """Blocks."""
        endpoints = (EndPoint(LISTENER, LISTENER, "h", 9000 + self.broker_id),)
        registration = BrokerRegistration(self.broker_id, endpoints)
        self._epoch = register_broker(self.zk, registration, generation=generation)  # type: ignore[arg-type]

    def stop_in_order(self) -> None:
        """Blocks. As the broker does: its leaders move first, then it closes its logs."""
        self.broker.manager.about_to_stop()
        for _ in range(3):
            if self._may_leave():
                break
            self.sleep(100)
        self.is_listening = False
        self.network.reset(self.broker_id)
        self.broker.manager.shutdown()
        self.broker.log_manager.shutdown()
        self.has_left = True

    def _may_leave(self) -> bool:
        """Blocks. Whether the controller has moved all of its leaders."""
        node = self.broker.cache.node(self.broker.cache.controller_id, LISTENER)
        if node is None:
            return False
        request = ControlledShutdownRequest(broker_id=self.broker_id, broker_epoch=self._epoch)
        try:
            answer = self.connect(node).send(request, 3)
        except NetworkError:
            return False
        return answer.error_code == ErrorCode.NONE and not answer.remaining_partitions

    def kill(self) -> None:
        """Blocks. Nothing that it does has an effect any more; what it held in memory can still be looked at."""
        self.is_listening = False
        self.is_frozen = False
        self.disk.is_off = True
        self.network.reset(self.broker_id)
        self._processes.kill(self.process)

    def leave_disk(self) -> None:
        """It was killed; what it wrote is on its disk, synced or not."""
        self.disk.end()
        for log in [*self.broker.log_manager.all_logs(), *self.broker.log_manager.future.all()]:
            log.close_files()
        self.broker.log_manager.release()

    @property
    def has_lost_power(self) -> bool:
        """In the middle of something: its disk was told to end at a call, and that call was made."""
        return 0 < self.disk.cut_at <= self.disk.calls

    def advance(self, ms: int) -> None:
        with self._processes.acting(self.process), suppress(PowerCut):
            self.clock.advance(ms)

    def sleep(self, ms: int) -> None:
        """Blocks, by its own clock."""
        over = Event()
        self.clock.call_at(self.clock.monotonic_ms() + ms, over.set)
        over.wait()

    # --- what it does over the network -------------------------------------------------------------------------------

    def connect(self, node: Node) -> Connection:
        """Blocks. Raises NetworkError."""
        return self.network.connect(node.id, self.broker_id, self.clock)

    def wait_while_frozen(self) -> None:
        """Blocks. What reaches the machine stays there until its process runs again."""
        while self.is_frozen:
            gevent.sleep(0)


class Proposals:
    """The channel to the controller: one request at a time, again and again until whoever is the controller answers."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._queue: deque[tuple[Any, Pending[Any]]] = deque()
        self._connection: Connection | None = None
        self._controller_id = -1
        self._is_running = False

    def send(self, request: Any) -> Pending[Any]:
        pending: Pending[Any] = Pending()
        self._queue.append((request, pending))
        if not self._is_running:
            self._is_running = True
            self._member.spawn(self._run)
        return pending

    def _run(self) -> None:
        """Blocks."""
        while self._queue:
            request, pending = self._queue[0]
            answer = self._ask(request)
            if answer is None or answer.error_code == ErrorCode.NOT_CONTROLLER:
                self._connection = None
                self._member.sleep(RETRY_MS)
                continue
            self._queue.popleft()
            pending.complete(answer)
        self._is_running = False

    def _ask(self, request: Any) -> Any:
        """Blocks. None: not answered."""
        cache = self._member.broker.cache
        node = cache.node(cache.controller_id, LISTENER)
        if node is None:
            return None
        try:
            if self._connection is None or self._controller_id != node.id:
                self._connection, self._controller_id = self._member.connect(node), node.id
            return self._connection.send(request, ALTER_PARTITION_VERSION)
        except NetworkError:
            return None
