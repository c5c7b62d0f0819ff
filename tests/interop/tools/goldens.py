"""What Apache's console tools say of command lines that are wrong by themselves, and how that was written down.

`python -m tests.interop.tools.goldens` runs Apache's tools again and writes tests/golden/tools/console-refusals.jsonl
anew; new command lines are added to that file by hand, with any answer.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kafka_zk.tools.common.options import usage_of
from tests.interop.tools.runs import comparable, run_apache
from tests.support.allowed import allowed
from tests.support.apache import ToolRun, java
from tests.support.masks import Mask, masked

GOLDEN = Path(__file__).parents[2] / "golden" / "tools" / "console-refusals.jsonl"
# Those that end by System.exit cannot share a virtual machine with the next run.
MAIN_CLASSES = {
    "console-producer": "kafka.tools.ConsoleProducer",
    "console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "producer-performance": "org.apache.kafka.tools.ProducerPerformance",
    "consumer-performance": "org.apache.kafka.tools.ConsumerPerformance",
    "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "streams-application-reset": "org.apache.kafka.tools.StreamsResetter",
    "cluster": "org.apache.kafka.tools.ClusterTool",
    "features": "org.apache.kafka.tools.FeatureCommand",
    "transactions": "org.apache.kafka.tools.TransactionsCommand",
    "verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
    "verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
}
PERFORMANCE = {"producer-performance": "producer_perf_test", "consumer-performance": "consumer_perf_test"}
"""Two tools whose names are not those of their scripts."""
MASKS = (
    Mask(
        re.compile(r"perf-consumer-\d+\) *"),
        lambda found: "perf-consumer-00000)".ljust(len(found[0])),
        allowed("ids-and-times"),
    ),
)
ENDS_THE_MACHINE = frozenset({"cluster", "features", "verifiable-producer", "verifiable-consumer"})


@dataclass(frozen=True)
class Refusal:
    """One command line and what Apache's tool made of it."""

    tool: str
    arguments: tuple[str, ...]
    run: ToolRun


def package_of(tool: str) -> str:
    """The package of our tool, below kafka_zk.tools."""
    return PERFORMANCE.get(tool, tool.replace("-", "_"))


def refusals() -> list[Refusal]:
    """All that were written down."""
    return [
        Refusal(row["tool"], tuple(row["args"]), ToolRun(row["exit"], row["stdout"], row["stderr"]))
        for row in map(json.loads, GOLDEN.read_text().splitlines())
    ]


def asked_again(wanted: Iterable[Refusal], folder: Path) -> Iterator[Refusal]:
    """What Apache's tools say now to the same command lines, tool by tool."""
    by_tool: dict[str, list[tuple[str, ...]]] = {}
    for each in wanted:
        by_tool.setdefault(each.tool, []).append(each.arguments)
    for tool, lines in by_tool.items():
        if tool in ENDS_THE_MACHINE:
            runs = [_run_alone(MAIN_CLASSES[tool], line) for line in lines]
        else:
            runs = run_apache(MAIN_CLASSES[tool], lines, folder)
        yield from (Refusal(tool, line, shortened(tool, run)) for line, run in zip(lines, runs, strict=True))


def shortened(tool: str, run: ToolRun) -> ToolRun:
    """The run made comparable, with marks for our usage texts where they stand in it word for word."""
    plain = comparable(run)
    help_text = usage_of(package_of(tool))
    usage = help_text.partition("\n\n")[0]

    def marked(text: str) -> str:
        return masked(text, MASKS).replace(help_text, "<usage text>\n").replace(usage + "\n", "<usage>\n")

    return ToolRun(plain.exit_code, marked(plain.stdout), marked(plain.stderr))


def _run_alone(main_class: str, arguments: tuple[str, ...]) -> ToolRun:
    done = subprocess.run(
        java(main_class, *arguments), capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
    )
    return ToolRun(done.returncode, done.stdout, done.stderr)


def _write(found: Iterable[Refusal]) -> None:
    rows = (
        {
            "tool": each.tool,
            "args": each.arguments,
            "exit": each.run.exit_code,
            "stdout": each.run.stdout,
            "stderr": each.run.stderr,
        }
        for each in found
    )
    GOLDEN.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        _write(list(asked_again(refusals(), Path(scratch))))
