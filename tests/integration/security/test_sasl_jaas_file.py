"""Users and modules in a JAAS file, as operators of Kafka give it in KAFKA_OPTS."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_zk.broker.logins import jaas_file
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.errors import ConfigException
from kafka_zk.security.authentication.login_modules import JaasFile, login_options
from tests.integration.security.sasl_broker import PLAIN_MODULE, SCRAM_MODULE

SECTIONS = f"""
KafkaServer {{
   {SCRAM_MODULE} required;
   {PLAIN_MODULE} required username="broker" password="b" user_general="g";
}};
own.KafkaServer {{
   {PLAIN_MODULE} required user_own="o";
}};
"""


def config(values: dict[str, str] | None = None) -> BrokerConfig:
    return BrokerConfig.from_properties({"zookeeper.connect": "h:1", "broker.id": "1", **(values or {})})


@pytest.fixture
def file(tmp_path: Path) -> JaasFile:
    path = tmp_path / "jaas.conf"
    path.write_text(SECTIONS)
    return jaas_file({"KAFKA_OPTS": f"-Xmx1g -Djava.security.auth.login.config={path} -Dx=y"})


def test_a_listener_has_its_own_section_before_that_of_all(file: JaasFile) -> None:
    assert login_options(config(), "OWN", "PLAIN", file) == {"user_own": "o"}
    assert login_options(config(), "OTHER", "PLAIN", file)["user_general"] == "g"


def test_each_mechanism_has_the_options_of_its_own_module(file: JaasFile) -> None:
    assert login_options(config(), "OTHER", "SCRAM-SHA-256", file) == {}


def test_a_key_with_its_prefix_comes_before_the_file_and_one_without_is_ignored(file: JaasFile) -> None:
    own = {"listener.name.own.plain.sasl.jaas.config": f"{PLAIN_MODULE} required user_key=k;"}
    assert login_options(config(own), "OWN", "PLAIN", file) == {"user_key": "k"}
    unprefixed = {"sasl.jaas.config": f"{PLAIN_MODULE} required user_key=k;"}
    assert login_options(config(unprefixed), "OWN", "PLAIN", file) == {"user_own": "o"}


def test_without_a_section_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigException, match="is not set"):
        login_options(config(), "OWN", "PLAIN", JaasFile())
    with pytest.raises(ConfigException, match="/some/file"):
        login_options(config(), "OWN", "PLAIN", JaasFile("/some/file"))


def test_the_file_shows_no_secret(file: JaasFile) -> None:
    assert "user_own" not in repr(file)
