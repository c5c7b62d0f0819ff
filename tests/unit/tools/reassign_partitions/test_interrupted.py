"""What is said to whoever ends kafka-reassign-partitions.sh with Ctrl-C."""

from __future__ import annotations

import pytest

from kafka_zk.tools.common.options import Options
from kafka_zk.tools.reassign_partitions.bootstrap import after_interrupt
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
