"""Files with secrets that everybody can read are named; those that only their owner reads are not."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.config.exposure import exposed_files, is_exposed
from kafka_zk.tools.log_doctor.__main__ import main as doctor
from kafka_zk.tools.server_start.__main__ import warn_of_exposed

SECRET = "pw-4711"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Reachable for everybody, which pytest's own folders are not."""
    closed = [each for each in tmp_path.parents if not each.stat().st_mode & 0o001]
    for each in (*closed, tmp_path):
        each.chmod(0o755)
    yield tmp_path
    for each in closed:
        each.chmod(0o700)


def put(path: Path, mode: int, text: str = "") -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    "name",
    [
        "ssl.keystore.password",
        "listener.name.x.ssl.key.password",
        "listener.name.x.plain.sasl.jaas.config",
        "ssl.keystore.key",
        "password.encoder.secret",
        "delegation.token.secret.key",
        "kafka_zk.metrics.basic.password",
    ],
)
def test_a_properties_file_with_a_secret_is_exposed_by_its_mode(folder: Path, name: str) -> None:
    file = put(folder / "server.properties", 0o644)
    (exposed,) = exposed_files({name: SECRET}, file, {})
    assert (exposed.path, exposed.what) == (file, f"where {name} is set")
    assert SECRET not in str(exposed)
    file.chmod(0o640)
    assert exposed_files({name: SECRET}, file, {}) == []


def test_a_properties_file_without_a_secret_may_be_read(folder: Path) -> None:
    file = put(folder / "server.properties", 0o644)
    assert (
        exposed_files({"broker.id": "1", "ssl.truststore.location": str(file), "ssl.key.password": ""}, file, {}) == []
    )


def test_key_stores_password_files_and_the_jaas_file_are_looked_at(folder: Path) -> None:
    store, password, jaas = (put(folder / name, 0o604) for name in ("key.p12", "password", "jaas.conf"))
    given = {"listener.name.x.ssl.keystore.location": str(store), "kafka_zk.metrics.basic.password.file": str(password)}
    environment = {"KAFKA_OPTS": f"-Dother=1 -Djava.security.auth.login.config={jaas} -Dlast=1"}
    found = exposed_files(given, None, environment)
    assert {each.path for each in found} == {store, password, jaas}
    for each in (store, password, jaas):
        each.chmod(0o600)
    assert exposed_files(given, None, environment) == []


def test_a_closed_folder_protects_what_is_below(folder: Path) -> None:
    (folder / "closed").mkdir(mode=0o700)
    file = put(folder / "closed" / "key.pem", 0o644)
    assert not is_exposed(file)
    (folder / "closed").chmod(0o711)
    assert is_exposed(file)
    assert not is_exposed(folder / "nowhere")


def test_the_broker_warns_when_it_starts(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Of overrides, too: what they set is not in the file."""
    store = put(folder / "key.p12", 0o644)
    file = put(folder / "server.properties", 0o644)
    of_file = {"ssl.keystore.password": SECRET}
    caplog.set_level(logging.WARNING)
    warn_of_exposed(of_file, {**of_file, "ssl.keystore.location": str(store)}, file)
    assert len(caplog.messages) == 2
    assert caplog.messages[0].startswith(f"{file} can be read by everybody on this machine, and it is where ssl.")
    assert caplog.messages[1].endswith(f": chmod o-rwx {store}")
    assert SECRET not in caplog.text


def test_the_doctor_warns_of_the_files_that_a_configuration_names(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = put(folder / "key.p12", 0o644)
    text = f"ssl.keystore.location={store}\nssl.keystore.password={SECRET}\n"
    file = put(folder / "server.properties", 0o600, text)
    (folder / "data").mkdir()
    assert doctor([str(folder / "data"), "--config", str(file)]) == 0
    told = capsys.readouterr().out
    assert "secret-exposed" in told
    assert "key.p12" in told
    assert SECRET not in told
    assert doctor([str(folder / "data"), "--config", str(folder / "nowhere")]) == 1
