"""KafkaServer: one broker, built from its parts, started and stopped in Kafka's order.

Role        Acts. The only place that knows all rooms; it decides nothing but the order.
Invariants  A broker is in ZooKeeper only while its data is locked and loaded; it serves only once it is registered.
            Whatever was started is stopped, in reverse order, also when the start fails half way.
Source      KafkaServer.startup and shutdown.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path

import gevent
from gevent.event import Event
from greenlet import greenlet

from kafka_zk.admin.config_changes import ConfigChangeListener
from kafka_zk.admin.configs import ConfigAdmin
from kafka_zk.admin.topic_rules import GROUP_METADATA_TOPIC
from kafka_zk.admin.topics import TopicAdmin
from kafka_zk.api import all as all_apis
from kafka_zk.api.context import Services
from kafka_zk.api.dispatch import Dispatcher
from kafka_zk.api.registry import REGISTRY
from kafka_zk.broker import logs
from kafka_zk.broker.advertised import advertised_endpoints, registration
from kafka_zk.broker.controlled_shutdown import leave_cluster
from kafka_zk.broker.identity import IdentityMismatch, check_identity, new_cluster_id, stored_broker_id
from kafka_zk.broker.measures import BrokerMeasures, BrokerState
from kafka_zk.broker.session_file import SessionFile
from kafka_zk.broker.session_watch import SessionWatch
from kafka_zk.broker.state_dump import describe_state
from kafka_zk.broker.topic_configs import TopicConfigs
from kafka_zk.clock import Clock, SystemClock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.endpoints import EndPoint
from kafka_zk.config.support import start_up_warnings
from kafka_zk.controller.channel import socket_connect
from kafka_zk.controller.loop import KafkaController
from kafka_zk.controller.settings import ControllerSettings
from kafka_zk.coordinator.group.coordinator import GroupCoordinator
from kafka_zk.coordinator.transaction.producer_ids import ProducerIdManager
from kafka_zk.log.data_dir import DirectoryInUse
from kafka_zk.log.files.meta_properties import MalformedMetaProperties
from kafka_zk.log.manager import LogManager
from kafka_zk.log.opening import InvalidLogDirectory
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metadata.controller_channel import ControllerChannel
from kafka_zk.metadata.snapshot import Node
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.metrics.http import MetricsServer
from kafka_zk.metrics.loop import MetricsLoop
from kafka_zk.network.channel import BrokerChannel
from kafka_zk.network.errors import NetworkError
from kafka_zk.network.request_metrics import RequestMetrics
from kafka_zk.network.server import SocketServer
from kafka_zk.network.settings import SocketServerSettings
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.replication.manager import ReplicaManager
from kafka_zk.zk.cluster import create_or_get_cluster_id, create_top_level_paths, features, report_log_dir_failure
from kafka_zk.zk.entity_configs import entity_config
from kafka_zk.zk.errors import ZkError
from kafka_zk.zk.registration import check_endpoints_free, generate_broker_id, register_broker
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.session_metrics import measure
from kafka_zk.zk.topics import topic_assignment
from kafka_zk.zk.znodes import entity_path

WARM_KEYS = (18, 3, 0, 1, 2, 10, 11, 14, 12, 8, 9)
"""ApiVersions, Metadata, Produce, Fetch, ListOffsets and what a consumer of a group asks: most clients begin so."""

START_FAILURES = (
    BrokerError,
    IdentityMismatch,
    DirectoryInUse,
    InvalidLogDirectory,
    MalformedMetaProperties,
    OSError,
)
"""What prevents a start without being a bug of ours: its text tells the operator everything."""

FIRST_METADATA_WAIT_S = 3.0

log = logging.getLogger("kafka.server.KafkaServer")


class KafkaServer:
    """One broker. `startup`, then `await_shutdown`; `shutdown` may be called from any greenlet, once or twice."""

    def __init__(self, config: BrokerConfig, clock: Clock | None = None) -> None:
        self.config = config
        self.clock = clock or SystemClock()
        self.metrics = MetricsRegistry(self.clock)
        self._measures = BrokerMeasures(self.metrics)
        self.broker_id = config.broker_id
        self.broker_epoch = -1
        self.cluster_id = ""
        self.services = Services()
        self._stops: list[tuple[str, Callable[[], object]]] = []
        self._session_file: SessionFile | None = None
        self._starting: greenlet | None = None
        self._stopping = False
        self._stopped = Event()
        self._is_running = False
        self._serves_replicas = False

    # --- life --------------------------------------------------------------------------------------------------------

    def startup(self) -> None:
        """Blocks. Come up and serve; raises what prevents it, with nothing left running.

        A `shutdown` meanwhile ends it: GreenletExit is raised.
        """
        self._starting = gevent.getcurrent()
        try:
            self._start_parts()
        except BaseException:
            self._starting = None
            self.shutdown()
            raise
        self._starting = None
        self._is_running = True
        self._measures.state = BrokerState.RUNNING
        log.info("[KafkaServer id=%d] started", self.broker_id)

    def shutdown(self) -> None:
        """Blocks. Stop everything that was started, in reverse order."""
        starting, self._starting = self._starting, None
        if starting is not None:
            # It may wait for ZooKeeper, or recover logs, for minutes. It stops what it has started so far itself.
            gevent.kill(starting)
        if self._stopping or starting is not None:
            self._stopped.wait()
            return
        self._stopping = True
        log.info("[KafkaServer id=%d] shutting down", self.broker_id)
        if self._is_running:
            self._measures.state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
            leave_cluster(
                self._controller_channel, self.config, broker_id=self.broker_id, broker_epoch=self.broker_epoch
            )
        self._measures.state = BrokerState.SHUTTING_DOWN
        while self._stops:
            name, stop = self._stops.pop()
            try:
                stop()
            except Exception:
                log.exception("[KafkaServer id=%d] Error while stopping the %s", self.broker_id, name)
        self._is_running = False
        self._measures.state = BrokerState.NOT_RUNNING
        log.info("[KafkaServer id=%d] shut down completed", self.broker_id)
        self._stopped.set()

    def await_shutdown(self) -> None:
        """Blocks until `shutdown` has ended."""
        self._stopped.wait()

    def log_state(self) -> None:
        """Write to the log what this broker is doing, for a person to read."""
        if not self._is_running:
            log.info("[KafkaServer id=%d] State: %s", self.broker_id, "stopping" if self._stopping else "starting")
            return
        state = describe_state(self.services, self._socket_server, broker_epoch=self.broker_epoch)
        log.info("[KafkaServer id=%d] State:\n%s\n", self.broker_id, state)

    def port(self, listener_name: str | None = None) -> int:
        """The bound port of a listener, of the first one when none is named."""
        return self._socket_server.bound_port(listener_name or self.config.listeners[0].listener_name)

    def _stop_later(self, name: str, stop: Callable[[], object]) -> None:
        self._stops.append((name, stop))

    # --- start-up, step by step --------------------------------------------------------------------------------------

    def _start_parts(self) -> None:
        log.info("[KafkaServer id=%d] starting", self.broker_id)
        started_ms = self.clock.wall_ms()
        self._measures.state = BrokerState.STARTING
        for warning in start_up_warnings(self.config):
            log.warning(warning)
        self._start_metrics()
        self._connect_zookeeper()
        self._start_logs()
        self._build_replication()
        self._measures.joined(
            self.metrics,
            broker_id=self.broker_id,
            cluster_id=self.cluster_id,
            started_ms=started_ms,
            cache=self._metadata_cache,
        )
        self._start_network()
        self._register()
        self._start_coordinators()
        self._start_controller()
        self._fill_services()
        self._follow_configs()
        self._socket_server.enable_processing()
        self._await_first_metadata()
        gevent.spawn(self._warm_up)

    def _start_metrics(self) -> None:
        loop = MetricsLoop(self.metrics)
        loop.start()
        self._stop_later("metrics loop", loop.stop)
        port = self.config.kafka_zk_metrics_port
        if port is not None:
            host = self.config.kafka_zk_metrics_host
            server = MetricsServer(self.metrics, host=host, port=port)
            try:
                server.start()
            except OSError as error:
                raise NetworkError(f"The metrics end point failed to bind to {host}:{port}: {error}") from error
            self._stop_later("metrics end point", server.stop)
            log.info("[KafkaServer id=%d] Metrics are served on port %d", self.broker_id, server.port)

    def _connect_zookeeper(self) -> None:
        config = self.config
        self._zk = ZkClient(
            config.zookeeper_connect,
            session_timeout_ms=config.zookeeper_session_timeout_ms,
            connection_timeout_ms=config.zookeeper_connection_timeout_ms,
            max_in_flight=config.zookeeper_max_in_flight_requests,
        )
        log.info("[KafkaServer id=%d] Connecting to zookeeper on %s", self.broker_id, config.zookeeper_connect)
        measure(self._zk, self.metrics, self.clock)
        self._session_watch = SessionWatch(
            config.zookeeper_connect, session_timeout_ms=config.zookeeper_session_timeout_ms
        )
        self._stop_later("watch over the ZooKeeper session", self._session_watch.release)
        self._stop_later("ZooKeeper session", self._end_session)
        self._zk.start()
        create_top_level_paths(self._zk)
        self.cluster_id = create_or_get_cluster_id(self._zk, new_cluster_id())
        log.info("[KafkaServer id=%d] Cluster ID = %s", self.broker_id, self.cluster_id)

    def _end_session(self) -> None:
        """Without ZooKeeper it cannot be ended; then a successor will do it."""
        is_connected = self._zk.state == "CONNECTED"
        self._zk.close()
        if is_connected and self._session_file is not None:
            self._session_file.forget()

    def _start_logs(self) -> None:
        self._topic_configs = TopicConfigs(self._zk, lambda: self.config)
        self._log_manager = LogManager(
            config=self.config,
            topic_config=self._topic_configs.config_of,
            clock=self.clock,
            metrics=self.metrics,
            on_log_dir_failure=self._on_log_dir_failure,
        )
        found = self._log_manager.lock_and_read_identities()
        self._stop_later("log directories' locks", self._log_manager.release)
        check_identity(found, cluster_id=self.cluster_id, broker_id=self.broker_id)
        if self.broker_id < 0:
            self.broker_id = self._stored_or_new_id(stored_broker_id(found))
        self._log_manager.write_identities(broker_id=self.broker_id, cluster_id=self.cluster_id)
        self._apply_dynamic_config()
        self._session_file = SessionFile(Path(self._log_manager.live_log_dirs()[0]))
        self._session_file.end_previous(self.config.zookeeper_connect)
        self._topic_configs.load()
        self._measures.state = BrokerState.RECOVERY
        self._log_manager.startup()
        self._stop_later("log manager", self._log_manager.shutdown)

    def _stored_or_new_id(self, stored: int | None) -> int:
        if stored is not None:
            return stored
        return generate_broker_id(self._zk, reserved_broker_max_id=self.config.reserved_broker_max_id)

    def _apply_dynamic_config(self) -> None:
        default = entity_config(self._zk, entity_path(("brokers", None)))
        own = entity_config(self._zk, entity_path(("brokers", str(self.broker_id))))
        if default or own:
            self.config = self.config.with_dynamic(default=default, broker=own)

    def _build_replication(self) -> None:
        config = self.config
        self._metadata_cache = MetadataCache()
        self._metadata_cache.on_change(lambda topics, deleted: self._topic_configs.forget(deleted))
        self._controller_channel = ControllerChannel(
            metadata_cache=self._metadata_cache,
            listener_name=config.control_plane_listener_name or config.inter_broker_listener_name,
            clock=self.clock,
            connect=self._connect_to_controller,
        )
        self._controller_channel.start()
        self._stop_later("channel to the controller", self._controller_channel.shutdown)
        self._replica_manager = ReplicaManager(
            config=config,
            broker_id=self.broker_id,
            clock=self.clock,
            log_manager=self._log_manager,
            metadata_cache=self._metadata_cache,
            metrics=self.metrics,
            controller=self._controller_channel,
            broker_epoch=lambda: self.broker_epoch,
            connect=self._connect_to_broker,
            on_log_dir_failure=self._report_log_dir_failure,
        )
        self._replica_manager.startup()
        self._serves_replicas = True
        self._stop_later("replica manager", self._replica_manager.shutdown)

    def _connect_to_controller(self, node: Node) -> BrokerChannel:
        timeout_ms = self.config.controller_socket_timeout_ms
        return BrokerChannel.connect(
            node.host,
            node.port,
            client_id=str(self.broker_id),
            connect_timeout_ms=timeout_ms,
            request_timeout_ms=timeout_ms,
        )

    def _connect_to_broker(self, node: Node, client_id: str) -> BrokerChannel:
        timeout_ms = self.config.replica_socket_timeout_ms
        return BrokerChannel.connect(
            node.host,
            node.port,
            client_id=client_id,
            connect_timeout_ms=timeout_ms,
            request_timeout_ms=timeout_ms,
            receive_buffer_bytes=self.config.replica_socket_receive_buffer_bytes,
        )

    def _start_network(self) -> None:
        registry = all_apis.load()
        dispatcher = Dispatcher(self.services, registry, RequestMetrics(self.metrics))
        self._socket_server = SocketServer(
            SocketServerSettings.of(self.config), dispatcher, broker_id=self.broker_id, metrics=self.metrics
        )
        self._socket_server.start()
        self._stop_later("socket server", self._socket_server.stop)
        self._endpoints = advertised_endpoints(self.config, self._socket_server.bound_port)

    def _register(self, generation: int | None = None) -> None:
        """Blocks. Appear in /brokers/ids, with a new broker epoch. Called again for each new session."""
        mine = registration(
            self.config, broker_id=self.broker_id, endpoints=self._endpoints, now_ms=self.clock.wall_ms()
        )
        if generation is None:
            check_endpoints_free(self._zk, mine)
        assert self._session_file is not None
        self._session_file.remember(self._zk)
        self._session_watch.guard(self._zk.session_id, self._zk.session_password)
        self.broker_epoch = register_broker(self._zk, mine, generation=generation)

    def _start_controller(self) -> None:
        settings = ControllerSettings.from_config(self.config, self.broker_id)
        self._controller = KafkaController(
            settings=settings,
            zk=self._zk,
            clock=self.clock,
            metrics=self.metrics,
            connect=socket_connect(settings),
            metadata_cache=self._metadata_cache,
            register_broker=self._register,
        )
        self._controller.startup()
        self._stop_later("controller", self._controller.shutdown)

    def _start_coordinators(self) -> None:
        self._topic_admin = TopicAdmin(self._zk, self.config, self._metadata_cache, self.clock)
        self._stop_later("topic requests that wait", self._topic_admin.waits.shutdown)
        self._group_coordinator = GroupCoordinator(
            config=self.config,
            clock=self.clock,
            replica_manager=self._replica_manager,
            metadata_cache=self._metadata_cache,
            metrics=self.metrics,
            offsets_partition_count=self._offsets_partition_count,
        )
        self._group_coordinator.startup()
        self._stop_later("group coordinator", self._group_coordinator.shutdown)

    def _offsets_partition_count(self) -> int | None:
        topic = topic_assignment(self._zk, GROUP_METADATA_TOPIC)
        return None if topic is None else len(topic.partitions)

    def _fill_services(self) -> None:
        services = self.services
        services.config = self.config
        services.clock = self.clock
        services.metrics = self.metrics
        services.cluster_id = self.cluster_id
        services.broker_id = self.broker_id
        services.zk = self._zk
        services.metadata_cache = self._metadata_cache
        services.log_manager = self._log_manager
        services.replica_manager = self._replica_manager
        services.group_coordinator = self._group_coordinator
        services.controller = self._controller
        services.topic_admin = self._topic_admin
        services.config_admin = ConfigAdmin(self._zk, self._metadata_cache, self.config, self.broker_id, logs.levels)
        services.producer_ids = ProducerIdManager(
            broker_id=self.broker_id,
            broker_epoch=lambda: self.broker_epoch,
            controller=self._controller_channel,
            clock=self.clock,
        )
        found = features(self._zk)
        services.finalized_features_epoch = found[1].version if found else 0

    def _follow_configs(self) -> None:
        listener = ConfigChangeListener(self._zk, self.clock, self._on_topic_overrides)
        listener.start()
        self._stop_later("config changes", listener.stop)

    def _on_topic_overrides(self, topic: str, overrides: Mapping[str, str]) -> None:
        changed = self._topic_configs.change(topic, overrides)
        if changed is None:
            return
        before, now = changed
        self._log_manager.update_topic_config(topic, now)
        if now.unclean_leader_election_enable and not before.unclean_leader_election_enable:
            self._controller.enable_topic_unclean_election(topic)

    def _await_first_metadata(self) -> None:
        """Blocks until the controller has shown us the cluster, for a while.

        Clients of librdkafka that find no broker in their first answer do not ask again for a long time: whoever waits
        for `started` must not be one of them. Without a controller we start all the same.
        """
        shown = Event()
        self._metadata_cache.on_change(lambda topics, partitions: shown.set())
        if not self._metadata_cache.is_alive(self.broker_id):
            shown.wait(FIRST_METADATA_WAIT_S)

    # --- while it runs -----------------------------------------------------------------------------------------------

    def _on_log_dir_failure(self, directory: str) -> None:
        if not self._serves_replicas:
            # Found broken while we start: no replica is in service yet, and the log manager ends the start when no
            # directory is left. The controller learns of it from our answer to LeaderAndIsr.
            return
        self._replica_manager.handle_log_dir_failure(directory)

    def _report_log_dir_failure(self, directory: str) -> None:
        """Tell the controller, which moves the leaders away; with no directory left there is nothing to live for."""
        gevent.spawn(self._tell_controller_of_failure)
        if not self._log_manager.live_log_dirs():
            log.critical("Shutdown broker because all log dirs in %s have failed", ", ".join(self.config.log_dirs))
            gevent.spawn(self.shutdown)

    def _tell_controller_of_failure(self) -> None:
        try:
            report_log_dir_failure(self._zk, self.broker_id)
        except ZkError:
            log.exception("[KafkaServer id=%d] The controller could not be told of the failure", self.broker_id)

    def _warm_up(self) -> None:
        """Compile the codecs that the first clients will need, one at a time, while nobody asks for anything."""
        for key in WARM_KEYS:
            served = REGISTRY.get(key)
            if served is not None:
                version = served.request.max_version
                gevent.idle()
                served.request.decoder(version)
                served.response.encoder(version)

    @property
    def endpoints(self) -> tuple[EndPoint, ...]:
        """The advertised listeners with real hosts and ports."""
        return self._endpoints
