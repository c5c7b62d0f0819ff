"""Command lines that kafka-reassign-partitions.sh refuses by itself, what Apache's tool says of them, and how that was
written down.

`python -m tests.interop.tools.reassign_lines` runs Apache's tool again and writes
tests/golden/tools/reassign-partitions.jsonl anew. F in a line stands for a file with the row's text.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_zk.tools.common.options import usage_of
from tests.interop.tools.runs import comparable, run_apache, run_once
from tests.support.apache import ToolRun

TOOL = "reassign_partitions"
MAIN_CLASS = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
GOLDEN = Path(__file__).parents[2] / "golden" / "tools" / "reassign-partitions.jsonl"
NO_BROKER = "--bootstrap-server 127.0.0.1:1"

OPTIONS = """

--help
--version
--version --help
--bogus
--verify --bogus
-v
-list
-list -bootstrap-server
--list --execute
--generate --execute --verify --cancel --list
--bootstrap-server B
--execute
--verify
--generate
--cancel
--list
--list --throttle
--disallow-replication-factor-change
--execute --bootstrap-server B --disallow-replication-factor-change
--execute --bootstrap-server B
--verify --bootstrap-server B
--cancel --bootstrap-server B
--generate --bootstrap-server B
--generate --bootstrap-server B --topics-to-move-json-file F
--generate --bootstrap-server B --broker-list 1
--list --bootstrap-server B --additional
--list --bootstrap-server B --throttle 1
--list --bootstrap-server B --timeout 1
--list --bootstrap-server B --preserve-throttles
--list --bootstrap-server B --disable-rack-aware
--list --bootstrap-server B --broker-list 1
--list --bootstrap-server B --reassignment-json-file F
--list --bootstrap-server B --topics-to-move-json-file F
--list --bootstrap-server B --replica-alter-log-dirs-throttle 1
--verify --bootstrap-server B --reassignment-json-file F --additional
--verify --bootstrap-server B --reassignment-json-file F --throttle 1
--verify --bootstrap-server B --reassignment-json-file F --timeout 1
--verify --bootstrap-server B --reassignment-json-file F --replica-alter-log-dirs-throttle 1
--verify --bootstrap-server B --reassignment-json-file F --broker-list 1
--verify --bootstrap-server B --reassignment-json-file F --disable-rack-aware
--verify --bootstrap-server B --reassignment-json-file F --topics-to-move-json-file F
--cancel --bootstrap-server B --reassignment-json-file F --additional
--cancel --bootstrap-server B --reassignment-json-file F --throttle 1
--cancel --bootstrap-server B --reassignment-json-file F --replica-alter-log-dirs-throttle 1
--cancel --bootstrap-server B --reassignment-json-file F --broker-list 1
--execute --bootstrap-server B --reassignment-json-file F --preserve-throttles
--execute --bootstrap-server B --reassignment-json-file F --broker-list 1
--execute --bootstrap-server B --reassignment-json-file F --disable-rack-aware
--execute --bootstrap-server B --reassignment-json-file F --topics-to-move-json-file F
--execute --bootstrap-server B --reassignment-json-file F --throttle 1 --broker-list 1 --disable-rack-aware
--generate --bootstrap-server B --topics-to-move-json-file F --broker-list 1 --reassignment-json-file F
--generate --bootstrap-server B --topics-to-move-json-file F --broker-list 1 --throttle 1
--generate --bootstrap-server B --topics-to-move-json-file F --broker-list 1 --additional
--generate --bootstrap-server B --topics-to-move-json-file F --broker-list 1 --timeout 1
--generate --bootstrap-server B --topics-to-move-json-file F --broker-list 1 --preserve-throttles
--execute --bootstrap-server B --reassignment-json-file /no/such/file
--verify --bootstrap-server B --reassignment-json-file /no/such/file
--cancel --bootstrap-server B --reassignment-json-file /no/such/file
--generate --bootstrap-server B --topics-to-move-json-file /no/such/file --broker-list 1
--execute --bootstrap-server B --reassignment-json-file F --command-config /no/such/file
--execute --bootstrap-server B --reassignment-json-file F --throttle a
--execute --bootstrap-server B --reassignment-json-file F --throttle 1.5
--execute --bootstrap-server B --reassignment-json-file F --throttle 9223372036854775808
--execute --bootstrap-server B --reassignment-json-file F --throttle=
--execute --bootstrap-server B --reassignment-json-file F --throttle 1 --throttle 2
--execute --bootstrap-server B --reassignment-json-file F --replica-alter-log-dirs-throttle a
--execute --bootstrap-server B --reassignment-json-file F --timeout a
--execute --bootstrap-server B --reassignment-json-file F --timeout
--execute --bootstrap-server B --reassignment-json-file F --reassignment-json-file F
--execute --bootstrap-server B --bootstrap-server B --reassignment-json-file F
--execute --bootstrap-server foo --reassignment-json-file F
--execute --bootstrap-server , --reassignment-json-file F
--execute --bootstrap-server= --reassignment-json-file F
--cancel --bootstrap-server B --reassignment-json-file F --timeout a
--cancel --bootstrap-server B --reassignment-json-file F --timeout 1 --timeout 2
"""
"""With a file that holds an empty object."""

NO_JSON = (
    "",
    "{",
    "[",
    "[1",
    "[1,",
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    '{"a" 1}',
    "{a:1}",
    "nofile",
    "nul",
    '{"a":nope}',
    '{"a":tru}',
    '{"a":NaN}',
    '"abc',
    '{"a":"abc',
    '{"a',
    '{"a":01}',
    '{"a":-}',
    '{"a":1.}',
    '{"a":1e}',
    '{"a":1e+}',
    '{"a":1,}',
    "[1,]",
    "[1 2]",
    '{"a":1]',
    "[1}",
    '{"a":[1}',
    "]",
    "}",
    '{"a":\n 1,\n b}',
    '{\n"a": [\n1,\n2',
    "{'a':1}",
    '{"a":"\\x"}',
    '{"a":"\\u12"}',
    '{"a":"\\',
    '{"a":"a\tb"}',
    '{"a\tb":1}',
    '{"a":.5}',
    '{"a":+1}',
    '{"a":}',
    "-",
    "1x",
    "true1",
    ",",
    ":",
    "/* c */ {}",
    "// x",
    "#",
    '{"a":1 "b":2}',
    '{"a":"x"y}',
    "{1:2}",
    '{"a":é}',
    '{"a":€}',
    "\x00",
    '{"a":Infinity}',
    '{"a":-Infinity}',
    "\ufeff{}",
)
OTHER_JSON = (
    "12",
    "   ",
    "null",
    "[]",
    '"s"',
    "true",
    "{}",
    '{"a":1}x',
    '{"a":1} }',
    '{"a":1e400}',
    '{"version":1.0}',
    '{"version":2}',
    '{"version":-1}',
    '{"version":99999999999}',
    '{"version":99999999999999999999}',
    '{"version":"1"}',
    '{"version":null}',
    '{"version":{}}',
    '{"version":true}',
    '{"partitions":{}}',
    '{"partitions":null}',
    '{"partitions":"x"}',
    '{"partitions":[]}',
    '{"partitions":[1]}',
    '{"partitions":[[]]}',
)
PARTITIONS = (
    "{}",
    '{"topic":1}',
    '{"topic":"a"}',
    '{"topic":"a","partition":"0"}',
    '{"topic":"a","partition":0.5}',
    '{"topic":"a","partition":4294967296}',
    '{"topic":"a","partition":0}',
    '{"topic":"a","partition":0,"replicas":1}',
    '{"topic":"a","partition":0,"replicas":null}',
    '{"topic":"a","partition":0,"replicas":["1"]}',
    '{"topic":"a","partition":0,"replicas":[1,null]}',
    '{"topic":"a","partition":0,"replicas":[1],"log_dirs":[]}',
    '{"topic":"a","partition":0,"replicas":[1,2],"log_dirs":["any"]}',
    '{"topic":"a","partition":0,"replicas":[1],"log_dirs":"x"}',
    '{"topic":"a","partition":0,"replicas":[1],"log_dirs":[1]}',
    '{"topic":"a","partition":0,"replicas":[1],"log_dirs":null}',
    '{"topic":"a","partition":0,"replicas":[]}',
    '{"topic":"a","partition":0,"replicas":[1]},{"topic":"a","partition":1,"replicas":[]}',
    '{"topic":"a","partition":0,"replicas":[1]},{"topic":"a","partition":0,"replicas":[1]}',
    (
        '{"topic":"b","partition":7,"replicas":[1]},{"topic":"a","partition":0,"replicas":[1]},'
        '{"topic":"a","partition":0,"replicas":[2]},{"topic":"b","partition":7,"replicas":[3]}'
    ),
    '{"topic":"a","partition":0,"replicas":[1,1]}',
    (
        '{"topic":"a","partition":0,"replicas":[1,2,17,1,17]},{"topic":"a","partition":1,"replicas":[3]},'
        '{"topic":"z","partition":1,"replicas":[-1,-1]}'
    ),
)
TOPICS = (
    "",
    "{",
    "nope",
    "[]",
    "12",
    '{"version":2}',
    '{"version":"1"}',
    '{"topics":{}}',
    '{"topics":[1]}',
    '{"topics":[{}]}',
    '{"topics":[{"topic":1}]}',
    '{"topics":[{"topic":"a"},{"topic":"a"}]}',
    '{"topics":[{"topic":"b"},{"topic":"a"},{"topic":"a"},{"topic":"b"}]}',
)
BROKER_LISTS = ("a", "1,,2", "1,1", "1,2,2,1", ",1", "1;2", "99999999999", "1, 2")


@dataclass(frozen=True)
class Line:
    """One command line and the text of its file."""

    arguments: tuple[str, ...]
    text: str

    def words(self, file: Path) -> list[str]:
        return [str(file) if word == "F" else word for word in self.arguments]


def lines() -> list[Line]:
    """All, the options first."""
    found = [line_of(text, "{}") for text in OPTIONS.removeprefix("\n").splitlines()]
    plans = [*NO_JSON, *OTHER_JSON, *(f'{{"version":1,"partitions":[{each}]}}' for each in PARTITIONS)]
    found += [line_of(f"--execute {NO_BROKER} --reassignment-json-file F", text) for text in plans]
    # These two parse as --execute does: what is no file of this kind is enough.
    few = ["", "{", "12", '{"version":2}', '{"partitions":[1]}', f'{{"partitions":[{PARTITIONS[11]}]}}']
    for action in ("--verify", "--cancel"):
        found += [line_of(f"{action} {NO_BROKER} --reassignment-json-file F", text) for text in few]
    generate = f"--generate {NO_BROKER} --topics-to-move-json-file F --broker-list"
    found += [line_of(f"{generate} 1", text) for text in TOPICS]
    return found + [
        Line((*line_of(generate, "").arguments, brokers), '{"topics":[{"topic":"a"}]}') for brokers in BROKER_LISTS
    ]


def line_of(text: str, file: str) -> Line:
    """A line of a table; B is an address where nobody answers."""
    return Line(tuple("127.0.0.1:1" if word == "B" else word for word in text.split()), file)


def shown(run: ToolRun, file: Path, tool: str = TOOL) -> ToolRun:
    """The run with marks for the file's name and for our usage text, where that stands in it word for word."""
    plain, usage = comparable(run), usage_of(tool)

    def marked(text: str) -> str:
        return text.replace(str(file), "F").replace(usage, "<usage text>\n")

    return ToolRun(plain.exit_code, marked(plain.stdout), marked(plain.stderr))


def of_apache(
    asked: Sequence[Line],
    folder: Path,
    *,
    main_class: str = MAIN_CLASS,
    tool: str = TOOL,
    class_path: str | None = None,
) -> list[ToolRun]:
    """Blocks. What Apache's tool says now."""
    files = [folder / f"plan-{number}.json" for number in range(len(asked))]
    for line, file in zip(asked, files, strict=True):
        file.write_text(line.text)
    words = [line.words(file) for line, file in zip(asked, files, strict=True)]
    runs = run_apache(main_class, words, folder, class_path=class_path)
    return [shown(run, file, tool) for run, file in zip(runs, files, strict=True)]


def of_ours(main: Callable[[Sequence[str]], int], line: Line, folder: Path, tool: str = TOOL) -> ToolRun:
    """Blocks. What our tool says."""
    file = folder / "plan.json"
    file.write_text(line.text)
    return shown(run_once(main, line.words(file)), file, tool)


def written_down(golden: Path = GOLDEN) -> dict[Line, ToolRun]:
    """What Apache's tool said."""
    rows = map(json.loads, golden.read_text().splitlines())
    return {Line(tuple(row["args"]), row["file"]): ToolRun(row["exit"], row["stdout"], row["stderr"]) for row in rows}


def write_down(golden: Path, asked: Sequence[Line], runs: Iterable[ToolRun]) -> None:
    """Write what Apache's tool said."""
    rows = (
        {
            "args": line.arguments,
            "file": line.text,
            "exit": run.exit_code,
            "stdout": run.stdout,
            "stderr": run.stderr,
        }
        for line, run in zip(asked, runs, strict=True)
    )
    golden.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        write_down(GOLDEN, lines(), of_apache(lines(), Path(scratch)))
