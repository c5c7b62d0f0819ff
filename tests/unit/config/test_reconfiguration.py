"""What a running broker may become; each sentence is Apache 3.9.1's."""

from __future__ import annotations

import os

import pytest

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.dynamic import check_changes, take_over, to_store
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.password_encoder import PasswordEncoder
from kafka_zk.config.reconfiguration import changed_keys, check_step

STATIC = BrokerConfig.from_properties({"zookeeper.connect": "h:1", "log.dirs": "/data", "num.io.threads": "8"})
NESTED = (
    "Invalid value org.apache.kafka.common.config.ConfigException: {} for configuration Invalid dynamic configuration"
)
THREADS = "Dynamic thread count update validation failed for num.io.threads="
JAAS = "listener.name.plaintext.sasl.jaas.config"


@pytest.mark.parametrize(
    ("texts", "for_all", "said"),
    [
        ({"log.dirs": "/x"}, False, "Cannot update these configs dynamically: Set(log.dirs)"),
        ({"ssl.key.password": "x"}, False, "using the listener prefix: HashSet(ssl.key.password)"),
        ({"listeners": "PLAINTEXT://:1"}, True, "broker id must be specified: Set(listeners)"),
        ({JAAS: "x"}, True, f"broker id must be specified: Set({JAAS})"),
        ({"listener.name.plaintext.max.connections": "x"}, True, "Invalid value x for configuration max.connections"),
        ({"log.cleaner.min.cleanable.ratio": "2"}, False, "Invalid value 2.0 for configuration"),
        ({"principal.builder.class": "x"}, True, "x for configuration principal.builder.class: Class x could not be"),
        ({"listener.name.a.principal.builder.class": "x"}, False, "principal.builder.class: Class x could not be"),
        (
            dict.fromkeys(("listeners", JAAS, "listener.security.protocol.map"), "x"),
            True,
            f"specified: Set(listeners, listener.security.protocol.map, {JAAS})",
        ),
    ],
)
def test_what_may_not_change(texts: dict[str, str], for_all: bool, said: str) -> None:
    with pytest.raises(ConfigException) as raised:
        check_changes(texts, for_all_brokers=for_all)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("texts", "for_all"),
    [
        ({"my.plugin": "x"}, True),
        ({"listener.name.plaintext.max.connections": "5"}, True),
        ({"listener.name.plaintext.connections.max.reauth.ms": "5"}, False),
        ({"leader.replication.throttled.rate": "5"}, True),
        ({"listeners": "PLAINTEXT://:1"}, False),
    ],
)
def test_what_may_change(texts: dict[str, str], for_all: bool) -> None:
    check_changes(texts, for_all_brokers=for_all)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (
            {"num.io.threads": "17"},
            f"{THREADS}17, value should not be greater than double the current value 8",
        ),
        (
            {"num.io.threads": "3"},
            f"{THREADS}3, value should be at least half the current value 8",
        ),
        (
            {"log.cleaner.threads": "3"},
            "Log cleaner threads cannot be increased to more than double the current value 1",
        ),
        (
            {"log.local.retention.ms": "604800001"},
            (
                "Invalid value 604800001 for configuration log.local.retention.ms: "
                "Value must not be more than log.retention.ms property value: 604800000"
            ),
        ),
        ({"listener.name.plaintext.max.connections": "0"}, "Invalid max.connections 0"),
        (
            {"listener.name.plaintext.connections.max.idle.ms": "x"},
            "Invalid value x for configuration connections.max.idle.ms: Not a number of type LONG",
        ),
        (
            {"listener.name.plaintext.oauthbearer.sasl.oauthbearer.clock.skew.seconds": "x"},
            "Invalid value x for configuration sasl.oauthbearer.clock.skew.seconds: Not a number of type INT",
        ),
        (
            {"listener.name.plaintext.plain.sasl.login.callback.handler.class": "com.example.Mine"},
            (
                "Invalid value com.example.Mine for configuration sasl.login.callback.handler.class: "
                "Class com.example.Mine could not be found."
            ),
        ),
        (
            {"metric.reporters": "no.such.Reporter"},
            (
                "Validation of dynamic config update of Set(metric.reporters) failed with class "
                "class kafka.server.DynamicMetricsReporters"
            ),
        ),
    ],
)  # fmt: skip
def test_steps_that_a_part_cannot_make(texts: dict[str, str], said: str) -> None:
    now = STATIC.with_dynamic(default={}, broker=texts)
    with pytest.raises(ConfigException) as raised:
        check_step(STATIC, now)
    assert str(raised.value) == NESTED.format(said)


@pytest.mark.parametrize(
    "texts",
    [
        {"num.io.threads": "16"},
        {"num.io.threads": "4"},
        {"log.cleaner.threads": "2"},
        {"listener.name.a.num.network.threads": "x"},
        {},
    ],
)
def test_steps_that_all_can_make(texts: dict[str, str]) -> None:
    check_step(STATIC, STATIC.with_dynamic(default={}, broker=texts))


def test_a_key_that_a_listener_has_got_since_the_start_stands_in_the_way_of_later_changes() -> None:
    """It is compared with the file, not with what counts now."""
    own = {"listener.name.plaintext.plain.sasl.jaas.config": "x"}
    changed = STATIC.with_dynamic(default={}, broker=own)
    check_step(STATIC, changed)
    with pytest.raises(ConfigException, match="Configs cannot be updated dynamically for existing listener"):
        check_step(changed, STATIC.with_dynamic(default={}, broker={**own, "sasl.login.refresh.buffer.seconds": "7"}))


def test_a_configuration_becomes_another_for_whoever_has_it() -> None:
    config = STATIC.copy()
    now = config.with_dynamic(default={"log.retention.ms": "5"}, broker={"num.io.threads": "9"})
    before = config.copy()
    config.become(now)
    assert (config.log_retention_ms, config.num_io_threads, before.num_io_threads) == (5, 9, 8)
    assert changed_keys(before, config) == {"log.retention.ms", "num.io.threads"}


def test_a_password_is_stored_encoded_and_read_back() -> None:
    encoder = PasswordEncoder("secret", os.urandom)
    stored = to_store({JAAS: "hidden words", "log.retention.ms": "5"}, for_all_brokers=False, encoder=encoder)
    assert "hidden words" not in stored[JAAS]
    config, complaints = take_over(STATIC, default={}, broker=stored, encoder=encoder)
    assert (config.originals[JAAS], complaints) == ("hidden words", [])


@pytest.mark.parametrize(
    ("for_all", "encoder", "said"),
    [
        (True, PasswordEncoder("s", os.urandom), "Password config can be defined only at broker level"),
        (False, None, "Password encoder secret not configured"),
    ],
)
def test_passwords_that_cannot_be_stored(for_all: bool, encoder: PasswordEncoder | None, said: str) -> None:
    with pytest.raises(ConfigException, match=said):
        to_store({JAAS: "word"}, for_all_brokers=for_all, encoder=encoder)


def test_a_stored_password_that_cannot_be_read_is_left_out_and_named() -> None:
    stored = {JAAS: PasswordEncoder("old", os.urandom).encode("word")}
    config, (complaint,) = take_over(STATIC, default={}, broker=stored, encoder=PasswordEncoder("new", os.urandom))
    assert JAAS not in config.originals
    assert complaint.startswith("Ignoring a dynamic password config that could not be decoded")
