"""This broker as a member of the cluster: its session with ZooKeeper, and its registration there.

Role        Acts, through ZooKeeper, the session file and the helper that watches over the session.
Invariants  A process that may have to end the session after us (a successor, the helper) knows it before the broker
            appears in /brokers/ids.
Source      KafkaServer.initZkClient, KafkaZkClient.registerBroker.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

import gevent

from kafka_zk.broker.identity import new_cluster_id
from kafka_zk.broker.membership.predecessor import WaitForPredecessor
from kafka_zk.broker.membership.session_file import SessionFile
from kafka_zk.broker.membership.session_watch import SessionWatch
from kafka_zk.broker.membership.zookeeper_identity import broker_identity
from kafka_zk.broker.stops import Stops
from kafka_zk.clock import Clock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.zk.cluster import create_or_get_cluster_id, create_top_level_paths
from kafka_zk.zk.errors import MalformedZNode, NoNode
from kafka_zk.zk.limits import max_request_bytes
from kafka_zk.zk.registration import check_endpoints_free, register_broker
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.session_metrics import measure
from kafka_zk.zk.znodes import BrokerIdZNode, BrokerRegistration

LOOK_S = 0.1
"""How soon the end of a predecessor's session is noticed."""

TELL_MS = 1_000

log = logging.getLogger("kafka.server.KafkaServer")


class Membership:
    """`connect`, `use_log_dir`, `register`, in this order. The session is `zk`; the last two need it connected."""

    def __init__(self, config: BrokerConfig, *, clock: Clock, metrics: MetricsRegistry) -> None:
        """Blocks for key stores and the JAAS file. Raises IdentityError, TlsError."""
        identity = broker_identity(config)
        self.zk = ZkClient(
            config.zookeeper_connect,
            identity=identity,
            protects=config.zookeeper_set_acl,
            session_timeout_ms=config.zookeeper_session_timeout_ms,
            connection_timeout_ms=config.zookeeper_connection_timeout_ms,
            max_in_flight=config.zookeeper_max_in_flight_requests,
            max_request_bytes=max_request_bytes(os.environ),
        )
        self.cluster_id = ""
        self.broker_epoch = -1
        self.registered_generation = 0
        """The session that the broker is registered in."""
        self._session_timeout_ms = config.zookeeper_session_timeout_ms
        self._broker_id = config.broker_id
        self._file: SessionFile | None = None
        self._clock = clock
        measure(self.zk, metrics, clock)

    def connect(self, stops: Stops) -> None:
        """Blocks. Open the session, create the standard paths, read or choose the cluster id."""
        log.info("[KafkaServer id=%d] Connecting to zookeeper on %s", self._broker_id, self.zk.connect)
        self._watch = SessionWatch(
            self.zk.connect, session_timeout_ms=self._session_timeout_ms, identity=self.zk.identity
        )
        stops.add("watch over the ZooKeeper session", self._watch.release)
        stops.add("ZooKeeper session", self._end_session)
        self.zk.start()
        create_top_level_paths(self.zk)
        self.cluster_id = create_or_get_cluster_id(self.zk, new_cluster_id())
        log.info("[KafkaServer id=%d] Cluster ID = %s", self._broker_id, self.cluster_id)

    def use_log_dir(self, log_dir: Path) -> None:
        """Blocks. Save the session in the locked `log_dir`, and close the obsolete one of its last owner."""
        self._file = SessionFile(log_dir)
        self._file.end_previous(self.zk.connect, self.zk.identity)

    def register(self, mine: BrokerRegistration, generation: int | None = None) -> None:
        """Blocks. Register in /brokers/ids with a new broker epoch; again for each new session's `generation`."""
        if generation is None:
            check_endpoints_free(self.zk, mine)
            self._await_predecessor(mine)
        assert self._file is not None
        self._file.remember(self.zk)
        self._watch.guard(self.zk.session_id, self.zk.session_password)
        wanted = self.zk.generation if generation is None else generation
        self.broker_epoch = register_broker(self.zk, mine, generation=wanted)
        self.registered_generation = wanted

    def _await_predecessor(self, mine: BrokerRegistration) -> None:
        """Blocks while the session of a killed predecessor still holds the registration; see predecessor.py."""
        wait = WaitForPredecessor(mine, timeout_ms=self._session_timeout_ms)
        path = BrokerIdZNode.path(mine.broker_id)
        told_ms: int | None = None
        while True:
            found, session_id = self._registered(mine.broker_id)
            now_ms = self._clock.monotonic_ms()
            if session_id == self.zk.session_id or not wait.goes_on(found, session_id, now_ms):
                return
            if told_ms is None or now_ms - told_ms >= TELL_MS:
                told_ms = now_ms
                log.warning(
                    "[KafkaServer id=%d] Waiting for session 0x%x of an earlier run of this broker, which still holds "
                    "%s, to end: for %d s at most",
                    mine.broker_id,
                    session_id,
                    path,
                    -(-wait.left_ms(now_ms) // 1000),
                )
            gevent.sleep(LOOK_S)

    def _registered(self, broker_id: int) -> tuple[BrokerRegistration | None, int]:
        """Blocks. Who is registered under our id, with the session; None if nobody is, or in no form of ours."""
        try:
            data, stat = self.zk.get(BrokerIdZNode.path(broker_id))
            return BrokerIdZNode.decode(data, stat, broker_id), stat.ephemeral_owner
        except (NoNode, MalformedZNode):
            return None, 0

    def _end_session(self) -> None:
        """Close the session; without ZooKeeper, a successor will do it."""
        is_connected = self.zk.state == "CONNECTED"
        self.zk.close()
        if is_connected and self._file is not None:
            self._file.forget()
