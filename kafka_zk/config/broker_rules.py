"""Rules that span several broker keys, checked at start and after each dynamic change.

Role        Pure. Called by BrokerConfig only, after every single value was checked.
Source      KafkaConfig.validateValues.
"""

from __future__ import annotations

from kafka_zk.config.errors import ConfigException, require
from kafka_zk.config.layers import PER_LISTENER
from kafka_zk.config.parsed_broker import ParsedBroker

_CODEC_IDS = range(5)
_MIB = 1024 * 1024


def check_rules(config: ParsedBroker) -> None:
    """Raise ConfigException at the first broken rule, in Kafka's order."""
    _check_id(config)
    _check_log(config)
    _check_replication(config)
    _check_groups(config)
    _check_listeners(config)
    _check_connections(config)


def _check_id(config: ParsedBroker) -> None:
    if config.broker_id_generation_enable:
        require(
            -1 <= config.broker_id <= config.reserved_broker_max_id,
            "broker.id must be greater than or equal to -1 and not greater than reserved.broker.max.id",
        )
    else:
        require(config.broker_id >= 0, "broker.id must be greater than or equal to 0")


def _check_log(config: ParsedBroker) -> None:
    require(config.log_roll_ms >= 1, "log.roll.ms must be greater than or equal to 1")
    require(config.log_roll_jitter_ms >= 0, "log.roll.jitter.ms must be greater than or equal to 0")
    require(
        config.log_retention_ms >= 1 or config.log_retention_ms == -1,
        "log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
    )
    if config.log_cleaner_threads == 0:
        # Kafka divides by it and stops with Java's own message.
        raise ConfigException("/ by zero")
    require(
        config.log_cleaner_dedupe_buffer_size // config.log_cleaner_threads > _MIB,
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
    )


def _check_replication(config: ParsedBroker) -> None:
    require(
        config.replica_fetch_wait_max_ms <= config.replica_socket_timeout_ms,
        "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary "
        "socket timeouts",
    )
    require(
        config.replica_fetch_wait_max_ms <= config.replica_lag_time_max_ms,
        "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to prevent "
        "frequent changes in ISR",
    )


def _check_groups(config: ParsedBroker) -> None:
    if not -1 <= config.offsets_commit_required_acks <= config.offsets_topic_replication_factor:
        raise ConfigException(
            "offsets.commit.required.acks must be greater or equal to -1 and less or equal to "
            "offsets.topic.replication.factor"
        )
    if config.offsets_topic_compression_codec not in _CODEC_IDS:
        raise ConfigException(f"Unknown compression type id: {config.offsets_topic_compression_codec}")
    if "classic" not in config.group_coordinator_rebalance_protocols:
        raise ConfigException("Disabling the 'classic' protocol is not supported.")


def _check_listeners(config: ParsedBroker) -> None:
    advertised = [end_point.listener_name for end_point in config.advertised_listeners]
    names = [end_point.listener_name for end_point in config.listeners]
    require(bool(advertised), "There must be at least one broker advertised listener.")
    options = ",".join(advertised)
    valid_options = f"The valid options based on currently configured listeners are {options}"
    if config.values["controller.listener.names"] not in (None, ""):
        require(
            False,
            "controller.listener.names must be empty when not running in KRaft mode: "
            f"[{config.values['controller.listener.names']}]",
        )
    require(
        config.inter_broker_listener_name in advertised,
        f"inter.broker.listener.name must be a listener name defined in advertised.listeners. {valid_options}",
    )
    require(
        set(advertised) <= set(names),
        "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners. "
        f"Found {options}. The valid options based on the current configuration are {','.join(names)}",
    )
    require(
        all(end_point.host != "0.0.0.0" for end_point in config.advertised_listeners),
        "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address.",
    )
    control_plane = config.control_plane_listener_name
    if control_plane is not None:
        require(
            control_plane in advertised,
            f"control.plane.listener.name must be a listener name defined in advertised.listeners. {valid_options}",
        )
        require(
            control_plane != config.inter_broker_listener_name,
            "control.plane.listener.name, when defined, should have a different value from the inter broker listener "
            f"name. Currently they both have the value ListenerName({control_plane})",
        )
    _check_early_start(config, names)


def _check_early_start(config: ParsedBroker, names: list[str]) -> None:
    for name in (config.early_start_listeners or "").split(","):
        if name.strip() and name.strip().upper() not in names:
            raise ConfigException(
                f"early.start.listeners contains listener {name.strip().upper()}, but this is not contained in "
                "listeners or controller.listener.names"
            )


def _check_connections(config: ParsedBroker) -> None:
    for name in PER_LISTENER:
        config.of_listeners(name)  # Raises for a value that cannot be read.
    require(
        not config.inter_broker_security_protocol.startswith("SASL_")
        or config.sasl_mechanism_inter_broker_protocol in config.sasl_enabled_mechanisms,
        "sasl.mechanism.inter.broker.protocol must be included in sasl.enabled.mechanisms when SASL is used for "
        "inter-broker communication",
    )
    require(
        config.queued_max_request_bytes <= 0 or config.queued_max_request_bytes >= config.socket_request_max_bytes,
        "queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
    )
    require(
        config.max_connections_per_ip != 0 or bool(config.max_connections_per_ip_overrides),
        "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.",
    )
    delay_ms, idle_ms = config.connection_failed_authentication_delay_ms, config.connections_max_idle_ms
    require(
        idle_ms < 0 or delay_ms < idle_ms,
        f"connection.failed.authentication.delay.ms={delay_ms} should always be less than "
        f"connections.max.idle.ms={idle_ms} to prevent failed authentication responses from timing out",
    )
