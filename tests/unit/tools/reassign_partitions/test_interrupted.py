"""What kafka-reassign-partitions.sh says when it ends: to whoever pressed Ctrl-C, and of what failed."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_zk.client.errors import TimeoutException
from kafka_zk.tools.common.options import Options
from kafka_zk.tools.reassign_partitions import zookeeper
from kafka_zk.tools.reassign_partitions.ends import after_interrupt
from kafka_zk.tools.reassign_partitions.options import OPTIONS

EXECUTE = "--bootstrap-server host:9092 --execute --reassignment-json-file plan.json"
REMOVES = "kafka-reassign-partitions.sh --bootstrap-server host:9092{} --verify --reassignment-json-file plan.json"


@pytest.mark.parametrize("limit", ["--throttle 1000", "--replica-alter-log-dirs-throttle 1000"])
@pytest.mark.parametrize("config", ["", " --command-config client.properties"])
def test_who_ends_an_execute_is_told_how_to_remove_its_throttles(limit: str, config: str) -> None:
    hint = after_interrupt("execute", Options(OPTIONS, f"{EXECUTE}{config} {limit}".split()))
    assert REMOVES.format(config) in hint


def test_without_a_throttle_there_is_nothing_to_tell() -> None:
    assert after_interrupt("execute", Options(OPTIONS, EXECUTE.split())) == ""
    assert after_interrupt("verify", Options(OPTIONS, f"{EXECUTE} --throttle 1".split())) == ""


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def time_out(*_: Any) -> None:
    raise TimeoutException("nobody answers")


WITH_ZOOKEEPER = "--zookeeper zk:2181/kafka --execute --reassignment-json-file plan.json"


@pytest.mark.parametrize(
    ("brokers", "connection"),
    [([], "--zookeeper zk:2181/kafka"), (["--bootstrap-server", "host:9092"], "--bootstrap-server host:9092")],
    ids=["zookeeper", "both"],
)
def test_who_ends_an_execute_of_the_old_tool_is_told_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], brokers: list[str], connection: str
) -> None:
    monkeypatch.setattr(zookeeper, "connected", interrupt)
    with pytest.raises(KeyboardInterrupt):
        zookeeper.main([*WITH_ZOOKEEPER.split(), "--throttle", "1000", *brokers], interrupt)
    hint = f"kafka-reassign-partitions.sh {connection} --verify --reassignment-json-file plan.json\n"
    assert capsys.readouterr().err.endswith(hint)


def test_what_fails_with_brokers_beside_zookeeper_is_printed_as_the_tool_of_2_8_did(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert zookeeper.main([*WITH_ZOOKEEPER.split(), "--bootstrap-server", "host:9092"], time_out) == 1
    out, err = capsys.readouterr()
    assert out.startswith(
        f"{zookeeper.IGNORED}\nError: nobody answers\norg.apache.kafka.common.errors.TimeoutException"
    )
    assert "Exception in thread" not in err
