"""Secrets of clients: what is planned holds none, and what a client is made of has them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_zk.config.errors import ConfigException
from kafka_zk.config.properties import read_file
from kafka_zk.spark.cli.arguments import WrongUsage, parse
from kafka_zk.spark.client_secrets import (
    CONFIG_FILE,
    SEALED,
    inline_secrets,
    is_secret,
    public,
    resolved,
    write_properties,
)
from kafka_zk.spark.sources.kafka.settings import batch_settings

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="pw-4711";'
GIVEN = {"security.protocol": "SASL_SSL", "sasl.jaas.config": JAAS, "ssl.key.password": "pw-4712"}
INGEST = ["ingest", "--path", "p", "--topic", "t", "--checkpoint", "c", "--bootstrap-server", "h:1"]


@pytest.fixture(autouse=True)
def local_dirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folders of which Spark tells its Python processes."""
    folder = tmp_path / "local"
    folder.mkdir()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{folder},{tmp_path}")
    return folder


@pytest.mark.parametrize(
    "name",
    [
        "sasl.jaas.config",
        "ssl.keystore.password",
        "ssl.key.password",
        "ssl.truststore.password",
        "ssl.keystore.key",
        "ssl.keystore.certificate.chain",
        "ssl.truststore.certificates",
        "my.client.secret",
    ],
)
def test_what_kafka_types_as_a_password_is_a_secret(name: str) -> None:
    assert is_secret(name)
    assert not is_secret("ssl.keystore.location")


def test_secrets_among_options_leave_the_plan_for_a_file_that_only_its_owner_reads(local_dirs: Path) -> None:
    planned = public(GIVEN)
    assert planned.keys() == {"security.protocol", SEALED}
    assert "pw-47" not in repr(planned)
    sealed = Path(planned[SEALED])
    assert sealed.is_relative_to(local_dirs)
    assert sealed.stat().st_mode & 0o77 == sealed.parent.stat().st_mode & 0o77 == 0
    assert resolved(planned) == GIVEN


def test_the_settings_of_a_query_hold_no_secret() -> None:
    options = {f"kafka.{name}": value for name, value in GIVEN.items()}
    settings = batch_settings({**options, "kafka.bootstrap.servers": "h:1", "subscribe": "t"})
    assert "pw-47" not in repr(settings)
    assert resolved(settings.client)["sasl.jaas.config"] == JAAS


def test_a_worker_elsewhere_says_how_secrets_reach_it() -> None:
    planned = public(GIVEN)
    Path(planned[SEALED]).unlink()
    with pytest.raises(ConfigException, match=r"name it in the option kafka\.config\.file") as caught:
        resolved(planned)
    assert "pw-47" not in str(caught.value)


def test_a_file_gives_its_secrets_late_and_the_rest_at_once(tmp_path: Path) -> None:
    """What is no secret may decide what is planned: isolation.level, for instance. What is given otherwise wins."""
    file = tmp_path / "client.properties"
    write_properties(file, {**GIVEN, "isolation.level": "read_committed", "client.id": "of the file"})
    planned = public({CONFIG_FILE: str(file), "client.id": "own"})
    assert planned == {
        CONFIG_FILE: str(file),
        "security.protocol": "SASL_SSL",
        "isolation.level": "read_committed",
        "client.id": "own",
    }
    assert resolved(planned) == {**GIVEN, "isolation.level": "read_committed", "client.id": "own"}


def test_a_variable_is_replaced_where_the_client_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"sasl.jaas.config": JAAS.replace("pw-4711", "${env:PW}")}
    assert public(given) == given
    with pytest.raises(ConfigException, match="The environment variable PW is not set in this process"):
        resolved(given)
    monkeypatch.setenv("PW", "pw-4711")
    assert resolved(given)["sasl.jaas.config"] == JAAS


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ConfigException, match=r"^config\.file=/nowhere/c\.p cannot be read here: No such file"):
        public({CONFIG_FILE: "/nowhere/c.p"})


def test_any_value_survives_a_properties_file(tmp_path: Path) -> None:
    odd = {"a b": " = : # ! \\ \n \t ü 漢 \U0001f600 ", "sasl.jaas.config": JAAS}
    write_properties(tmp_path / "p", odd)
    read = {
        name: value.encode("utf-16", "surrogatepass").decode("utf-16")
        for name, value in read_file(tmp_path / "p").items()
    }
    assert read == odd
    assert (tmp_path / "p").stat().st_mode & 0o777 == 0o600


def test_a_command_line_takes_no_secret_but_a_variable() -> None:
    with pytest.raises(WrongUsage, match=r"ssl\.key\.password is a secret, .* --command-config") as caught:
        parse([*INGEST, "--kafka", "ssl.key.password=pw-4711"])
    assert "pw-4711" not in str(caught.value)
    assert parse([*INGEST, "--kafka", "ssl.key.password=${env:PW}"])
    assert inline_secrets({"ssl.key.password": "${env:PW}"}) == {}
