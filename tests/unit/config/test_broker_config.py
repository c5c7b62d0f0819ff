import pytest

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.endpoints import EndPoint
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.security_values import BUILT_IN_CLASSES, security_remark
from kafka_zk.config.support import start_up_warnings
from kafka_zk.config.tables.broker import BROKER_KEYS
from kafka_zk.config.topic import LogConfig


def given(**properties: str) -> BrokerConfig:
    """A configuration; keys are written with _ for the dots."""
    named = {key.replace("_", "."): value for key, value in properties.items()}
    return BrokerConfig.from_properties({"zookeeper.connect": "zk:2181", **named})


def warnings_of(config: BrokerConfig) -> list[str]:
    """The warnings, without those about the one key that every configuration here needs."""
    return [warning for warning in start_up_warnings(config) if "zookeeper.connect" not in warning]


def test_the_defaults_are_kafkas():
    config = given()
    assert config.listeners == [EndPoint("PLAINTEXT", "PLAINTEXT", "", 9092)]
    assert config.advertised_listeners == config.listeners
    assert (config.broker_id, config.num_partitions, config.log_dirs) == (-1, 1, ["/tmp/kafka-logs"])
    assert config.log_retention_ms == 7 * 24 * 3_600_000
    assert config.zookeeper_connection_timeout_ms == 18_000
    assert str(config.inter_broker_protocol_version) == "3.9-IV0"


@pytest.mark.parametrize(
    ("properties", "retention_ms"),
    [
        ({"log_retention_hours": "2"}, 7_200_000),
        ({"log_retention_hours": "2", "log_retention_minutes": "3"}, 180_000),
        ({"log_retention_hours": "2", "log_retention_minutes": "3", "log_retention_ms": "4"}, 4),
        ({"log_retention_ms": "-7"}, -1),
        ({"log_retention_hours": "-1"}, -1),
    ],
)
def test_the_finest_retention_unit_wins(properties: dict[str, str], retention_ms: int):
    assert given(**properties).log_retention_ms == retention_ms


def test_log_dirs_beats_log_dir_and_is_trimmed():
    assert given(log_dir="/a").log_dirs == ["/a"]
    assert given(log_dir="/a", log_dirs="/b , /c").log_dirs == ["/b", "/c"]


def test_either_id_key_fills_the_other():
    assert given(broker_id="3").node_id == 3
    assert given(node_id="4").broker_id == 4


def test_listeners_may_be_named_and_use_ipv6():
    config = given(
        listeners="inside://[::1]:9092,OUTSIDE://:0",
        listener_security_protocol_map="INSIDE:PLAINTEXT,outside:plaintext",
        inter_broker_listener_name="Inside",
        advertised_listeners="INSIDE://[2001:db8::1]:9092,OUTSIDE://kafka.example:9093",
    )
    assert config.listeners[0] == EndPoint("INSIDE", "PLAINTEXT", "::1", 9092)
    assert config.listeners[1].port == 0
    assert str(config.advertised_listeners[0]) == "INSIDE://[2001:db8::1]:9092"
    assert config.inter_broker_listener_name == "INSIDE"


def test_the_control_plane_listener_is_named_as_the_listeners_are():
    config = given(
        listeners="PLAINTEXT://:9092,CONTROL://:9093",
        listener_security_protocol_map="PLAINTEXT:PLAINTEXT,CONTROL:PLAINTEXT",
        control_plane_listener_name="control",
    )
    assert config.control_plane_listener_name == "CONTROL"


def with_listeners(**overrides: str) -> BrokerConfig:
    """Listeners INSIDE (the brokers') and OUT; `out_max_connections` is listener.name.out.max.connections."""
    keys = {
        f"listener.name.{listener}.{name.replace('_', '.')}": value
        for listener, _, name, value in ((*key.partition("_"), value) for key, value in overrides.items())
    }
    return BrokerConfig.from_properties(
        {
            "zookeeper.connect": "h:1",
            "listeners": "INSIDE://h:1,OUT://h:2",
            "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUT:PLAINTEXT",
            "inter.broker.listener.name": "INSIDE",
            "max.connections": "9",
            **keys,
        }
    )


def test_a_listener_may_have_a_value_of_its_own():
    assert with_listeners(out_max_connections="7").of_listeners("max.connections") == {"OUT": 7}
    assert with_listeners(OUT_max_connections="7").of_listeners("max.connections") == {}
    assert with_listeners(other_max_connections="7").of_listeners("max.connections") == {}


@pytest.mark.parametrize(("key", "value"), [("max_connections", "x"), ("max_connection_creation_rate", "-1")])
def test_a_wrong_value_of_a_listener_ends_the_start(key: str, value: str):
    with pytest.raises(ConfigException, match=rf"Invalid value {value} for configuration {key.replace('_', '.')}"):
        with_listeners(**{f"out_{key}": value})
    with_listeners(**{f"other_{key}": value})


def test_connection_overrides_may_name_ipv6_hosts():
    config = given(max_connections_per_ip_overrides="127.0.0.1:5,::1:6")
    assert config.max_connections_per_ip_overrides == {"127.0.0.1": 5, "::1": 6}


def test_dynamic_values_beat_the_file_and_the_broker_beats_the_cluster():
    config = given(log_retention_minutes="30", log_segment_bytes="1000")
    changed = config.with_dynamic(
        default={"log.retention.ms": "6000", "log.segment.bytes": "2000"}, broker={"log.retention.ms": "5000"}
    )
    assert (changed.log_retention_ms, changed.log_segment_bytes) == (5000, 2000)
    assert config.log_retention_ms == 1_800_000
    assert changed.with_dynamic(default={}, broker={}).log_retention_ms == 1_800_000


def test_the_metrics_port_is_off_unless_given():
    def port_of(text: str) -> int | None:
        return BrokerConfig.from_properties(
            {"zookeeper.connect": "h:1", "kafka_zk.metrics.port": text}
        ).kafka_zk_metrics_port

    assert given().kafka_zk_metrics_port is None
    assert (port_of("-1"), port_of("0"), port_of(" 9100 ")) == (None, 0, 9100)
    with pytest.raises(ConfigException, match="no more than 65535"):
        port_of("70000")


def test_unknown_keys_are_kept_and_warned_about():
    config = BrokerConfig.from_properties({"zookeeper.connect": "h:1", "no.such.key": "1", "super.users": "User:a"})
    assert config.unknown == {"no.such.key": "1", "super.users": "User:a"}
    assert warnings_of(config) == ["Config no.such.key is unknown: its value is reported, but has no effect."]


def test_a_key_that_nothing_reads_is_warned_about_when_set():
    warnings = warnings_of(given(telemetry_max_bytes="5"))
    assert warnings == [
        "Config telemetry.max.bytes is not supported yet: its value is validated and reported, but has no effect."
    ]


def test_what_counts_only_as_a_dynamic_config_is_warned_about_in_a_file():
    config = BrokerConfig.from_properties({"zookeeper.connect": "h:1", "leader.replication.throttled.rate": "1"})
    (warning,) = warnings_of(config)
    assert warning == (
        "Config leader.replication.throttled.rate has no effect in a file: "
        "it can only be set dynamically (kafka-configs.sh)."
    )


def test_what_a_listener_cannot_have_of_its_own_is_not_ignored_in_silence():
    used = with_listeners(out_max_connections="7", out_max_connection_creation_rate="5", out_num_network_threads="2")
    assert warnings_of(used) == []
    prefix = "Config listener.name."
    assert warnings_of(with_listeners(out_connections_max_idle_ms="1000")) == [
        f"{prefix}out.connections.max.idle.ms has no effect: connections.max.idle.ms cannot be set per listener."
    ]
    assert warnings_of(with_listeners(other_max_connections="7")) == [
        f"{prefix}other.max.connections has no effect: there is no such listener (write its name in lower case here)."
    ]
    assert warnings_of(with_listeners(out_ssl_keystore_location="f", out_plain_sasl_jaas_config="x")) == []
    assert warnings_of(with_listeners(out_ssl_provider="f")) == [
        f"{prefix}out.ssl.provider: ignoring f, since TLS is OpenSSL's here."
    ]


JAVA_SECURITY = "org.apache.kafka.common.security"
SECURITY = ("authorizer.", "connection.failed.authentication.", "connections.max.reauth.", "delegation.", "principal.",
            "password.encoder.", "sasl.", "security.", "ssl.", "zookeeper.set.acl", "zookeeper.ssl.")  # fmt: skip


def test_no_key_of_security_is_called_unsupported():
    for name, row in BROKER_KEYS.items():
        if name.startswith(SECURITY) and name != "security.providers":
            remark = security_remark(name, str(row.default or ""), has_mechanism=True)
            assert row.read_by is not None or remark == "", f"what is to be said of {name}?"


def test_a_key_that_encodes_passwords_or_judges_tokens_raises_no_warning():
    assert warnings_of(given(password_encoder_secret="s", password_encoder_iterations="5000")) == []
    token_keys = BrokerConfig.from_properties({
        "zookeeper.connect": "h:1",
        "listeners": "OUT://:9092",
        "listener.security.protocol.map": "OUT:PLAINTEXT",
        "inter.broker.listener.name": "OUT",
        "sasl.oauthbearer.expected.issuer": "https://issuer",
        "listener.name.out.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": "https://keys",
        "listener.name.out.oauthbearer.sasl.login.refresh.window.factor": "0.5",
    })  # fmt: skip
    assert warnings_of(token_keys) == []


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("ssl.protocol", "TLSv1.2", None),
        ("ssl.keymanager.algorithm", "PKIX", None),
        ("ssl.secure.random.implementation", "SHA1PRNG", None),
        ("ssl.provider", "BCJSSE", ": ignoring BCJSSE, since TLS is OpenSSL's here."),
        ("principal.builder.class", f"{JAVA_SECURITY}.authenticator.DefaultKafkaPrincipalBuilder", None),
        ("ssl.engine.factory.class", f"{JAVA_SECURITY}.ssl.DefaultSslEngineFactory", None),
        ("sasl.jaas.config", "x", " has no effect: it counts with the prefix of a listener and a mechanism only."),
        ("sasl.mechanism.controller.protocol", "PLAIN", None),
    ],
)
def test_of_what_a_jvm_would_choose_only_what_is_lost_is_told(key: str, value: str, told: str | None):
    config = BrokerConfig.from_properties({"zookeeper.connect": "h:1", key: value})
    assert warnings_of(config) == ([f"Config {key}{told}"] if told else [])


def test_a_class_that_kafka_does_not_bring_stops_the_start():
    for key in BUILT_IN_CLASSES:
        with pytest.raises(ConfigException, match=r"Class com\.example\.Own could not be found"):
            BrokerConfig.from_properties({"zookeeper.connect": "h:1", key: "com.example.Own"})


def test_thread_counts_raise_no_warning_because_one_loop_replaces_the_threads():
    assert warnings_of(given(num_io_threads="8", num_network_threads="3")) == []


def test_a_guarded_key_that_is_switched_off_raises_no_warning():
    config = BrokerConfig.from_properties(
        {"zookeeper.connect": "h:1", "authorizer.class.name": "", "process.roles": "", "zookeeper.set.acl": "false"}
    )
    assert warnings_of(config) == []


def test_reporters_are_ignored_with_a_warning_and_deciding_classes_are_refused():
    config = given(metric_reporters="org.apache.kafka.common.metrics.JmxReporter,com.example.Reporter")
    assert warnings_of(config) == [
        "Config metric.reporters: ignoring com.example.Reporter, since Java classes cannot be loaded."
    ]
    for key in ("create.topic.policy.class.name", "principal.builder.class", "replica.selector.class"):
        with pytest.raises(ConfigException, match=f"for configuration {key}: Class a.B could not be found."):
            BrokerConfig.from_properties({"zookeeper.connect": "h:1", key: "a.B"})


def test_built_in_classes_are_accepted():
    given(replica_selector_class="org.apache.kafka.common.replica.RackAwareReplicaSelector")
    builder = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"
    given(principal_builder_class=builder)


def test_a_topic_takes_the_brokers_outcome_where_it_has_no_value():
    config = given(
        log_retention_hours="2", log_roll_hours="3", log_flush_scheduler_interval_ms="9", message_max_bytes="5"
    )
    topic = LogConfig.from_overrides(config, {"segment.bytes": "100"})
    assert (topic.retention_ms, topic.segment_ms, topic.flush_ms) == (7_200_000, 10_800_000, 9)
    assert (topic.max_message_bytes, topic.segment_bytes) == (5, 100)
    assert topic.overrides == {"segment.bytes": "100"}


def test_the_older_timestamp_limit_counts_where_the_newer_was_left_alone():
    topic = LogConfig.from_overrides(
        given(), {"message.timestamp.difference.max.ms": "50", "message.timestamp.after.max.ms": "7"}
    )
    assert (topic.message_timestamp_before_max_ms, topic.message_timestamp_after_max_ms) == (50, 7)


def test_cleanup_policies_may_be_combined():
    topic = LogConfig.from_overrides(given(), {"cleanup.policy": "compact, delete"})
    assert topic.compact and topic.delete


def test_lists_of_two_topics_are_not_shared():
    config = given()
    LogConfig.from_overrides(config, {}).cleanup_policy.append("compact")
    assert LogConfig.from_overrides(config, {}).cleanup_policy == ["delete"]
    assert config.log_cleanup_policy == ["delete"]
