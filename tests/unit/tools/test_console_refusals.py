"""Command lines that are wrong by themselves: refused by our console tools in the words that Apache's printed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

import pytest

from tests.interop.tools.goldens import MASKS, Refusal, refusals, shortened
from tests.interop.tools.runs import run_once
from tests.support import masks

MODULES = {
    "consumer-groups": "kafka_consumer_groups.command",
    "delete-records": "delete_records",
    "streams-application-reset": "streams_reset.command",
    "cluster": "cluster",
    "features": "features",
    "console-consumer": "console_consumer.command",
    "console-producer": "console_producer.command",
    "consumer-performance": "consumer_perf.command",
    "get-offsets": "get_offsets",
    "producer-performance": "producer_perf.command",
    "verifiable-consumer": "verifiable.consumer",
    "verifiable-producer": "verifiable.producer",
}


def main_of(tool: str) -> Callable[[Sequence[str]], int]:
    main: Callable[[Sequence[str]], int] = importlib.import_module(f"kafka_zk.tools.{MODULES[tool]}").main
    return main


@pytest.mark.parametrize("tool", MODULES)
def test_what_is_wrong_by_itself_is_refused_as_apaches_tool_refused_it(tool: str) -> None:
    given = [refusal for refusal in refusals() if refusal.tool == tool]
    assert given
    ours = [Refusal(tool, each.arguments, shortened(tool, run_once(main_of(tool), each.arguments))) for each in given]
    assert ours == given


def test_what_is_masked_occurs(pytestconfig: pytest.Config) -> None:
    masks.skip_unless_whole(pytestconfig)
    assert masks.needless(MASKS) == []
