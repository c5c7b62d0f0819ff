"""Builds and starts the parts of one broker, in Kafka's order.

Role        Acts. The only module that knows all packages; it decides only their order.
Invariants  A broker is in ZooKeeper only while its data is locked and loaded; it serves only once it is registered.
            Each started part registers its stop at once (`stops`), so a start may fail half way.
Source      KafkaServer.startup.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path

import gevent

from kafka_zk.admin.broker_configs import BrokerConfigs
from kafka_zk.admin.config_changes import QUOTA_TYPES, ConfigChangeListener, EntityHandler, in_turn
from kafka_zk.admin.configs import ConfigAdmin
from kafka_zk.admin.topics import TopicAdmin
from kafka_zk.api import all as all_apis
from kafka_zk.api.before_login import BeforeLogin
from kafka_zk.api.cluster.api_versions import versions_answer
from kafka_zk.api.dispatch import Dispatcher
from kafka_zk.api.request_log import RequestLog
from kafka_zk.api.services import Services
from kafka_zk.broker.authorizer import start_authorizer
from kafka_zk.broker.coordinators import Coordinators
from kafka_zk.broker.identity import check_identity, stored_broker_id
from kafka_zk.broker.logins import Logins
from kafka_zk.broker.logs.levels import LogLevels
from kafka_zk.broker.membership.advertised import advertised_endpoints, registration
from kafka_zk.broker.membership.controlled_shutdown import leave_cluster
from kafka_zk.broker.membership.membership import Membership
from kafka_zk.broker.metrics import BrokerMetrics, BrokerState
from kafka_zk.broker.metrics_port import metrics_server
from kafka_zk.broker.peers import Peers
from kafka_zk.broker.quota_configs import QuotaConfigs
from kafka_zk.broker.state_dump import describe_state
from kafka_zk.broker.stops import Stops
from kafka_zk.broker.tls import BrokerTls
from kafka_zk.broker.topic_configs import TopicConfigs
from kafka_zk.broker.unheard_deletions import UnheardDeletions
from kafka_zk.broker.warm_up import warm_up
from kafka_zk.clock import Clock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.endpoints import EndPoint
from kafka_zk.config.support import start_up_warnings
from kafka_zk.controller.channel import socket_connect
from kafka_zk.controller.loop import KafkaController
from kafka_zk.controller.settings import ControllerSettings
from kafka_zk.log.manager import LogManager
from kafka_zk.log.segments.open_segments import connections_for, raise_descriptor_limit
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metadata.controller_channel import ControllerChannel
from kafka_zk.metadata.first_update import FirstUpdate
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.metrics.loop import MetricsLoop
from kafka_zk.network.channel import PeerSecurity
from kafka_zk.network.errors import NetworkError
from kafka_zk.network.request_metrics import RequestMetrics
from kafka_zk.network.server import SocketServer
from kafka_zk.network.settings import SocketServerSettings
from kafka_zk.protocol.errors import UnsupportedVersion
from kafka_zk.replication.manager import ReplicaManager
from kafka_zk.security.quotas.limits import Entity
from kafka_zk.security.tokens.rules import TokenRules
from kafka_zk.security.tokens.store import TokenStore
from kafka_zk.worker_pool import start_hub_pool
from kafka_zk.zk.cluster import features, report_log_dir_failure
from kafka_zk.zk.errors import ZkError
from kafka_zk.zk.registration import generate_broker_id, update_registration
from kafka_zk.zk.znodes import BrokerRegistration

METRICS_DESCRIPTORS = 9
"""Descriptors of the metrics endpoint: its connections and the socket that it listens on."""

HAND_OVER_S = 2.0
"""How long a stopping controller waits for its last requests. Tens of milliseconds are usual."""

log = logging.getLogger("kafka.server.KafkaServer")


class Parts:
    """The parts of one broker. `give_up` is called when all log directories have failed; it may block."""

    def __init__(self, config: BrokerConfig, clock: Clock, *, give_up: Callable[[], None]) -> None:
        self.config = config
        self._broker_configs = BrokerConfigs(config)
        self.broker_id = config.broker_id
        self.stops = Stops()
        self._give_up = give_up
        self._clock = clock
        self._metrics = MetricsRegistry(
            clock, num_samples=config.metrics_num_samples, sample_window_ms=config.metrics_sample_window_ms
        )
        self.broker_metrics = BrokerMetrics(self._metrics)
        self._services = Services()
        self._request_log = RequestLog()
        self._logins = Logins(config, clock)
        self._config_changes: ConfigChangeListener | None = None
        self._tls = BrokerTls(config)
        self._serves_replicas = False

    def start(self) -> None:
        """Blocks. Start everything in order. Raises the error that prevents it; `stops` then has the started parts."""
        started_ms = self._clock.wall_ms()
        for warning in start_up_warnings(self.config):
            log.warning(warning)
        self._logins.check()
        start_hub_pool()
        # Imports fill the time that the start waits for ZooKeeper and the disk.
        self._loading_handlers = gevent.spawn(all_apis.load, pause=gevent.idle)
        self._start_metrics()
        self._connect_zookeeper()
        self._start_logs()
        self._start_replication()
        self.broker_metrics.joined(
            self._metrics,
            broker_id=self.broker_id,
            cluster_id=self._membership.cluster_id,
            started_ms=started_ms,
            cache=self._metadata_cache,
        )
        self._bind_listeners()
        self._services.authorizer = start_authorizer(self.config, self._clock, self.stops)
        self._register()
        self._start_coordinators()
        self._start_controller()
        self._start_tokens()
        self._fill_services()
        self._follow_configs()
        self._socket_server.enable_processing()
        # After `started`, the broker is in its own metadata. Without a controller the broker starts all the same.
        self._first_update.wait()
        gevent.spawn(warm_up)

    # --- calls to a started broker ---------------------------------------------------------------------------------

    def leave_cluster(self) -> None:
        """Blocks. Have the controller move the leaders away, as far as it can."""
        self._replica_manager.about_to_stop()
        leave_cluster(
            self._controller_channel,
            self.config,
            broker_id=self.broker_id,
            broker_epoch=lambda: self._membership.broker_epoch,
        )
        # A controller's requests end with it: partitions would have no known leader before another
        # controller is elected.
        self._controller.wait_until_answered(HAND_OVER_S)

    def bound_port(self, listener_name: str) -> int:
        return self._socket_server.bound_port(listener_name)

    def describe(self) -> str:
        """What the broker is doing, as text for people."""
        return describe_state(self._services, self._socket_server, broker_epoch=self._membership.broker_epoch)

    # --- the start, step by step -------------------------------------------------------------------------------------

    def _start_metrics(self) -> None:
        loop = MetricsLoop(self._metrics)
        loop.start()
        self.stops.add("metrics loop", loop.stop)
        port = self.config.kafka_zk_metrics_port
        if port is not None:
            host = self.config.kafka_zk_metrics_host
            server = metrics_server(self.config, self._metrics, port)
            try:
                server.start()
            except OSError as error:
                raise NetworkError(f"The metrics endpoint failed to bind to {host}:{port}: {error}") from error
            self.stops.add("metrics end point", server.stop)
            log.info("[KafkaServer id=%d] Serving metrics on port %d", self.broker_id, server.port)

    def _connect_zookeeper(self) -> None:
        self._membership = Membership(self.config, clock=self._clock, metrics=self._metrics)
        self._zk = self._membership.zk
        self._membership.connect(self.stops)
        self._check_features()

    def _check_features(self) -> None:
        """Raises UnsupportedVersion: a cluster that has finalized a feature must not get a broker that lacks it."""
        found = features(self._zk)
        if found is not None and found[0].features:
            names = ", ".join(f"{name} at level {level}" for name, level in sorted(found[0].features.items()))
            raise UnsupportedVersion(f"This cluster has finalized features that this broker does not support: {names}")

    def _start_logs(self) -> None:
        self._topic_configs = TopicConfigs(self._zk, lambda: self.config)
        self._log_manager = LogManager(
            config=self.config,
            topic_config=self._topic_configs.config_of,
            clock=self._clock,
            metrics=self._metrics,
            on_log_dir_failure=self._on_log_dir_failure,
        )
        self._claim_data()
        self._broker_configs.load(self._zk, self.broker_id)
        self._membership.use_log_dir(Path(self._log_manager.live_log_dirs()[0]))
        self._topic_configs.load()
        self.broker_metrics.state = BrokerState.RECOVERY
        self._log_manager.startup()
        self.stops.add("log manager", self._log_manager.shutdown)

    def _claim_data(self) -> None:
        """Lock the directories, refuse those of another broker, and mark the others as ours."""
        found = self._log_manager.lock_and_read_identities()
        self.stops.add("log directories' locks", self._log_manager.release)
        cluster_id = self._membership.cluster_id
        check_identity(found, cluster_id=cluster_id, broker_id=self.broker_id)
        if self.broker_id < 0:
            self.broker_id = self._stored_or_new_id(stored_broker_id(found))
        self._log_manager.write_identities(broker_id=self.broker_id, cluster_id=cluster_id)

    def _stored_or_new_id(self, stored: int | None) -> int:
        if stored is not None:
            return stored
        return generate_broker_id(self._zk, reserved_broker_max_id=self.config.reserved_broker_max_id)

    def _start_replication(self) -> None:
        config = self.config
        self._metadata_cache = MetadataCache()
        self._first_update = FirstUpdate(self._metadata_cache)
        self._metadata_cache.on_change(lambda topics, deleted: self._topic_configs.forget(deleted))
        self._peers = Peers(
            config,
            self.broker_id,
            metadata_cache=self._metadata_cache,
            security_of=self._security_of_peers,
            clock=self._clock,
            stops=self.stops,
        )
        self._controller_channel = ControllerChannel(
            metadata_cache=self._metadata_cache,
            listener_name=self._peers.controllers_listener,
            clock=self._clock,
            connect=self._peers.connect_to_controller,
        )
        self._controller_channel.start()
        self.stops.add("channel to the controller", self._controller_channel.shutdown)
        self._replica_manager = ReplicaManager(
            config=config,
            broker_id=self.broker_id,
            clock=self._clock,
            log_manager=self._log_manager,
            metadata_cache=self._metadata_cache,
            metrics=self._metrics,
            controller=self._controller_channel,
            broker_epoch=lambda: self._membership.broker_epoch,
            connect=self._peers.connect_to_leader,
            on_log_dir_failure=self._report_log_dir_failure,
        )
        self._replica_manager.startup()
        self._replica_manager.on_stop(lambda stops: self._topic_configs.stopped(stops, self._topics_with_logs))
        self._serves_replicas = True
        self.stops.add("replica manager", self._replica_manager.shutdown)
        unheard = UnheardDeletions(self._zk, self._metadata_cache, self._replica_manager.leadership.forget_deleted)
        unheard.start()
        self.stops.add("look for unheard deletions", unheard.stop)
        self._replica_manager.leadership.on_new_life(unheard.look_soon)

    def _bind_listeners(self) -> None:
        """Ports must be known before the registration; requests are accepted at the very end."""
        self._tls.check()
        self.stops.add("logins", self._logins.stop)
        self._logins.peers.start()
        self._logins.follow_listeners()
        self._dispatcher = Dispatcher(self._services, self._loading_handlers.get(), RequestMetrics(self._metrics))
        self._switch_request_log()
        self._metrics.on_gather(self._request_log.write)
        self.stops.add("request log", lambda: self._request_log.write(self._clock.monotonic_ms()))
        self._socket_server = SocketServer(
            self._socket_settings(), self._dispatcher, broker_id=self.broker_id, metrics=self._metrics, tls=self._tls
        )
        self._socket_server.start()
        self.stops.add("socket server", self._socket_server.stop)
        self._endpoints = self._reached_at(self.config)

    def _switch_request_log(self) -> None:
        """As the level of its logger says: while it is off, dispatch has none."""
        self._dispatcher.request_log = self._request_log if self._request_log.is_on else None

    def _socket_settings(self) -> SocketServerSettings:
        scrapes = 0 if self.config.kafka_zk_metrics_port is None else METRICS_DESCRIPTORS
        descriptors = connections_for(raise_descriptor_limit(), scrapes)
        return SocketServerSettings.of(self.config, descriptors_for_connections=descriptors)

    def _register(self, generation: int | None = None) -> None:
        """Blocks. Called again, with its generation, for each new session."""
        if generation is not None and self._config_changes is not None:
            # Removed credentials must end, also if their notices are gone by now.
            self._config_changes.read_again("users", self._logins.credentials.replace)
        told = self._endpoints
        self._membership.register(self._registration(), generation)
        if self._endpoints is not told:
            # Listeners changed meanwhile, and that change found no session to publish it in.
            update_registration(self._zk, self._registration())

    def _registration(self) -> BrokerRegistration:
        now_ms = self._clock.wall_ms()
        return registration(self.config, broker_id=self.broker_id, endpoints=self._endpoints, now_ms=now_ms)

    def _start_coordinators(self) -> None:
        self._topic_admin = TopicAdmin(self._zk, self.config, self._metadata_cache, self._clock)
        self._topic_admin.waits.show_in(self._metrics)
        self.stops.add("topic requests that wait", self._topic_admin.waits.shutdown)
        self._coordinators = Coordinators(
            self.config,
            self.broker_id,
            broker_epoch=lambda: self._membership.broker_epoch,
            clock=self._clock,
            metrics=self._metrics,
            zk=self._zk,
            metadata_cache=self._metadata_cache,
            replica_manager=self._replica_manager,
            controller=self._controller_channel,
            peers=self._peers,
            stops=self.stops,
        )

    def _security_of_peers(self, listener_name: str) -> PeerSecurity:
        return PeerSecurity(self._tls.of_peers(listener_name), self._logins.peers.of(listener_name))

    def _start_controller(self) -> None:
        settings = ControllerSettings.from_config(self.config, self.broker_id)
        self._controller = KafkaController(
            settings=settings,
            zk=self._zk,
            clock=self._clock,
            metrics=self._metrics,
            connect=socket_connect(settings, lambda: self._security_of_peers(settings.listener)),
            metadata_cache=self._metadata_cache,
            register_broker=self._register,
        )
        self._controller.startup(self._membership.registered_generation)
        self.stops.add("controller", self._controller.shutdown)

    def _start_tokens(self) -> None:
        """Blocks. Without delegation.token.secret.key there are none."""
        config = self.config
        if not config.delegation_token_secret_key:
            return
        rules = TokenRules(
            config.delegation_token_secret_key,
            config.delegation_token_max_lifetime_ms,
            config.delegation_token_expiry_time_ms,
        )
        tokens = self._services.tokens = self._logins.tokens = TokenStore(
            self._zk, rules, self._clock, broker_id=self.broker_id
        )
        self.stops.add("delegation tokens", tokens.stop)
        tokens.start(
            sweep_interval_ms=config.delegation_token_expiry_check_interval_ms,
            is_controller=lambda: self._controller.is_active,
        )

    def _fill_services(self) -> None:
        services = self._services
        services.config = self.config
        services.clock = self._clock
        services.metrics = self._metrics
        services.cluster_id = self._membership.cluster_id
        services.broker_id = self.broker_id
        services.zk = self._zk
        services.metadata_cache = self._metadata_cache
        services.first_update = self._first_update
        services.log_manager = self._log_manager
        services.replica_manager = self._replica_manager
        services.group_coordinator = self._coordinators.groups
        services.transaction_verifier = self._coordinators.transaction_verifier
        services.controller = self._controller
        services.topic_admin = self._topic_admin
        services.authentication = BeforeLogin(
            self._logins.listeners, self._clock, lambda: versions_answer(services.finalized_features_epoch)
        )
        services.config_admin = ConfigAdmin(
            self._zk, self._metadata_cache, self._broker_configs, self.broker_id, LogLevels(self._switch_request_log)
        )
        services.producer_ids = self._coordinators.producer_ids
        services.marker_writer = self._coordinators.marker_writer
        services.transaction_coordinator = self._coordinators.transactions
        found = features(self._zk)
        services.finalized_features_epoch = found[1].version if found else 0

    def _follow_configs(self) -> None:
        quotas = QuotaConfigs(self.config, self._clock, self._metrics, self._services, self._socket_server.ip_rates)
        tell = self._broker_configs.tell
        tell(lambda before, now: self._log_manager.broker_config_changed(before))
        tell(lambda before, now: self._replica_manager.broker_config_changed())
        tell(lambda before, now: self._socket_server.use_limits_of(self._socket_settings()))
        tell(self._tls.follow)
        tell(self._follow_listeners)
        self._broker_configs.ask(self._tls.check_change)
        self._broker_configs.ask(self._logins.check_change)
        self._broker_configs.before_write(self._tls.reload_changed_files)
        tell(self._follow_unclean_default)
        handlers: dict[str, EntityHandler] = {"topics": self._on_topic_overrides, "brokers": self._on_broker_overrides}
        handlers |= dict.fromkeys(QUOTA_TYPES, quotas.apply)
        handlers["users"] = in_turn(self._logins.credentials.apply, quotas.apply)
        listener = self._config_changes = ConfigChangeListener(self._zk, self._clock, handlers)
        listener.start()
        self.stops.add("config changes", listener.stop)
        self._topic_configs.end_of_start(self._topics_with_logs())

    def _topics_with_logs(self) -> set[str]:
        return {log.topic_partition.topic for log in self._log_manager.all_logs()}

    # --- events that concern several parts ---------------------------------------------------------------------------

    def _on_topic_overrides(self, entity: Entity, overrides: Mapping[str, str]) -> None:
        topic = entity[0][1]
        if topic is None:
            return
        changed = self._topic_configs.change(topic, overrides)
        if changed is None:
            return
        before, now = changed
        self._log_manager.update_topic_config(topic, now)
        if now.unclean_leader_election_enable and not before.unclean_leader_election_enable:
            self._controller.enable_topic_unclean_election(topic)

    def _on_broker_overrides(self, entity: Entity, overrides: Mapping[str, str]) -> None:
        """Blocks. Ignores those of other brokers."""
        name = entity[0][1]
        if name is None or name.strip() == str(self.broker_id):
            self._broker_configs.changed(overrides, for_all_brokers=name is None)

    def _follow_listeners(self, before: BrokerConfig, now: BrokerConfig) -> None:
        """Blocks. Open and close listeners, and publish the addresses of this broker."""
        if (before.listeners, before.advertised_listeners) == (now.listeners, now.advertised_listeners):
            return
        try:
            # First, and whatever becomes of the others: a removed listener may be one without logins.
            self._socket_server.close_all_but(self._socket_settings())
            self._logins.follow_listeners()
            self._socket_server.use_endpoints_of(self._socket_settings())
        finally:
            # Also if one could not be opened: clients must not be sent to closed ones.
            reached = self._reached_at(now)
            if any(endpoint.listener_name == now.inter_broker_listener_name for endpoint in reached):
                self._endpoints = reached
                update_registration(self._zk, self._registration())

    def _reached_at(self, config: BrokerConfig) -> tuple[EndPoint, ...]:
        server = self._socket_server
        return advertised_endpoints(config, server.bound_port, server.open_listeners)

    def _follow_unclean_default(self, before: BrokerConfig, now: BrokerConfig) -> None:
        if now.unclean_leader_election_enable != before.unclean_leader_election_enable:
            self._controller.use_default_unclean_election(now.unclean_leader_election_enable)

    def _on_log_dir_failure(self, directory: str) -> None:
        if not self._serves_replicas:
            # Found failed during the start: no replica is in service yet, and the log manager ends the start when no
            # directory is left. The controller learns of it from our answer to LeaderAndIsr.
            return
        self._replica_manager.handle_log_dir_failure(directory)

    def _report_log_dir_failure(self, directory: str) -> None:
        """Tell the controller, which moves the leaders away; without any directory left, stop."""
        gevent.spawn(self._tell_controller_of_failure)
        if not self._log_manager.live_log_dirs():
            log.critical("Shutdown broker because all log dirs in %s have failed", ", ".join(self.config.log_dirs))
            gevent.spawn(self._give_up)

    def _tell_controller_of_failure(self) -> None:
        try:
            report_log_dir_failure(self._zk, self.broker_id)
        except ZkError:
            log.exception("[KafkaServer id=%d] Could not report the failure to the controller", self.broker_id)
