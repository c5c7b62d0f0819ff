"""Command lines that small tools for replicas refuse by themselves, and failed elections, in Apache's words."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_zk.client.admin.elections import ElectionType
from kafka_zk.client.errors import TimeoutException
from kafka_zk.protocol.errors import BrokerError, ElectionNotNeeded, PreferredLeaderNotAvailable
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.leader_election.__main__ import _elect
from tests.interop.tools.election_lines import TOOLS
from tests.interop.tools.reassign_lines import of_ours, written_down


@pytest.mark.parametrize("name", TOOLS)
def test_what_is_wrong_by_itself_is_refused_as_apaches_tool_refused_it(name: str, tmp_path: Path) -> None:
    recorded = written_down(TOOLS[name].golden)
    assert list(recorded) == TOOLS[name].asked, "the lines have changed: write the golden file anew"
    main = importlib.import_module(f"kafka_zk.tools.{name}.__main__").main
    assert {line: of_ours(main, line, tmp_path, name) for line in recorded} == recorded


def partition(number: int) -> TopicPartition:
    return TopicPartition("t", number)


def test_partitions_that_got_no_leader_are_told_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    failed = PreferredLeaderNotAvailable("nobody is there")
    outcomes: dict[TopicPartition, BrokerError | None] = {
        partition(0): None,
        partition(1): ElectionNotNeeded("it leads"),
        partition(2): failed,
    }
    admin = SimpleNamespace(elect_leaders=lambda *_: outcomes)
    with pytest.raises(JavaError, match=r"^1 replica\(s\) could not be elected$") as raised:
        _elect(cast(Any, admin), ElectionType.PREFERRED, None)
    assert raised.value.suppressed == [failed]
    assert capsys.readouterr().out == (
        "Successfully completed leader election (PREFERRED) for partitions t-0\n"
        "Valid replica already elected for partitions t-1\n"
        "Error completing leader election (PREFERRED) for partition: t-2: "
        "org.apache.kafka.common.errors.PreferredLeaderNotAvailableException: nobody is there\n"
    )


def test_an_election_without_an_answer_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    def nobody_answers(*_: Any) -> None:
        raise TimeoutException("nobody answers")

    with pytest.raises(JavaError, match=r"^Timeout waiting for election results$"):
        _elect(cast(Any, SimpleNamespace(elect_leaders=nobody_answers)), ElectionType.PREFERRED, None)
    assert capsys.readouterr().out == "Timeout waiting for election results\n"
