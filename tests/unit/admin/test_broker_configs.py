"""A broker's configuration becomes another as a whole, its parts are told, and what is wrong changes nothing."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from kafka_zk.admin.broker_configs import BrokerConfigs
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.zk.entity_configs import write_entity_config_before_any_broker
from kafka_zk.zk.znodes import ControllerRegistration, ControllerZNode
from tests.simulation.model_zookeeper import ModelZooKeeper


class Scene:
    """A broker with one part, which notes what it is told."""

    def __init__(self, **properties: str) -> None:
        given = {"zookeeper.connect": "h:1", "log.dirs": "/data", **properties}
        self.config = BrokerConfig.from_properties(given)
        self.configs = BrokerConfigs(self.config)
        self.told: list[tuple[Any, Any]] = []
        self.configs.tell(lambda before, now: self.told.append((before.num_io_threads, now.num_io_threads)))

    def change(self, *, for_all: bool = False, **values: str) -> None:
        stored = {name.replace("_", "."): value for name, value in values.items()}
        self.configs.changed(stored, for_all_brokers=for_all)


def test_the_parts_are_told_what_was_and_what_is() -> None:
    scene = Scene()
    scene.change(num_io_threads="16")
    assert scene.told == [(8, 16)]
    assert scene.config.num_io_threads == 16


def test_nobody_is_told_when_nothing_changed() -> None:
    scene = Scene()
    scene.change(num_io_threads="16")
    scene.change(num_io_threads="16")
    assert scene.told == [(8, 16)]


def test_what_is_no_longer_stored_is_as_it_was() -> None:
    scene = Scene()
    scene.change(num_io_threads="16")
    scene.change()
    assert scene.told == [(8, 16), (16, 8)]


def test_the_brokers_own_value_is_stronger_than_that_of_all() -> None:
    scene = Scene()
    scene.change(num_io_threads="10")
    scene.change(for_all=True, num_io_threads="12", log_retention_ms="5")
    assert (scene.config.num_io_threads, scene.config.log_retention_ms) == (10, 5)
    scene.change()
    assert scene.config.num_io_threads == 12


@pytest.mark.parametrize("wrong", [{"num_io_threads": "100"}, {"log_retention_ms": "0", "num_io_threads": "9"}])
def test_what_cannot_be_applied_changes_nothing(wrong: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    scene.change(**wrong)
    assert scene.told == []
    assert (scene.config.num_io_threads, scene.config.log_retention_ms) == (8, 604_800_000)
    assert "could not be applied" in caplog.text


def test_a_part_that_fails_does_not_keep_the_value_from_the_others(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    told: list[int] = []

    def fail(before: BrokerConfig, now: BrokerConfig) -> None:
        raise ZeroDivisionError

    scene.configs.tell(fail)
    scene.configs.tell(lambda before, now: told.append(now.num_io_threads))
    with caplog.at_level(logging.ERROR):
        scene.change(num_io_threads="9")
    assert told == [9]
    assert "failed to apply its new configuration" in caplog.text


def test_secrets_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    key = "listener.name.plaintext.sasl.jaas.config"
    scene = Scene(**{"password.encoder.secret": "the encoder's"})
    stored = scene.configs.to_store({key: "hidden words"}, for_all_brokers=False)
    with caplog.at_level(logging.DEBUG):
        scene.configs.changed(stored, for_all_brokers=False)
    assert scene.config.originals[key] == "hidden words"
    assert key in caplog.text
    assert "hidden words" not in caplog.text


@pytest.mark.parametrize("has_controller", [True, False])
def test_a_new_secret_takes_over_the_passwords_of_the_old_one_also_where_no_broker_runs(has_controller: bool) -> None:
    key = "listener.name.plaintext.sasl.jaas.config"
    old = Scene(**{"password.encoder.secret": "old"})
    zookeeper = ModelZooKeeper().with_kafka_paths()
    if has_controller:
        zookeeper.ensure("/controller", ControllerZNode.encode(ControllerRegistration(2, timestamp_ms=0)))
    zk: Any = zookeeper.client()
    stored = old.configs.to_store({key: "hidden words", "num.io.threads": "9"}, for_all_brokers=False)
    write_entity_config_before_any_broker(zk, "brokers/1", stored)
    between = Scene(**{"password.encoder.secret": "new", "password.encoder.old.secret": "old"})
    between.configs.load(zk, 1)
    assert between.config.originals[key] == "hidden words"
    new = Scene(**{"password.encoder.secret": "new"})
    new.configs.load(zk, 1)
    assert (new.config.originals[key], new.config.num_io_threads) == ("hidden words", 9)
