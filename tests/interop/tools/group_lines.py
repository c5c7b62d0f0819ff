"""Command lines of the tools for groups and records, what Apache's tools printed, and how that was written down.

`python -m tests.interop.tools.group_lines` starts ZooKeeper and an Apache broker, runs Apache's tools again and writes
tests/golden/tools/group-tools.jsonl anew.
"""

from __future__ import annotations

import json
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_zk.tools.consumer_groups.__main__ import main as consumer_groups
from kafka_zk.tools.delete_records.__main__ import main as delete_records
from kafka_zk.tools.streams_application_reset.__main__ import main as reset_streams
from tests.interop.tools import group_states
from tests.interop.tools.goldens import MAIN_CLASSES
from tests.interop.tools.runs import Arguments, comparable, run_apache, run_ours
from tests.support import masks
from tests.support.allowed import allowed
from tests.support.apache import ApacheBroker, ToolRun
from tests.support.masks import Mask
from tests.support.zookeeper import EmbeddedZooKeeper, fresh_chroot

FOLDER = Path(__file__).parents[2] / "golden" / "tools"
GOLDEN = FOLDER / "group-tools.jsonl"
PLACES = {
    "P/": f"{FOLDER}/reset-plans/",
    "R/": f"{FOLDER}/delete-records/",
    "LONG": group_states.LONG_TOPIC,
}

# Each line sees what those above it did.
GROUPS = """
--list
--list --state
--list --type
--list --state --type
--list --state stable
--list --state=Empty,stable
--list --state " dead , preparingrebalance "
--list --type classic
--list --type consumer
--list --state completingRebalance --type Classic
--describe --group live
--describe --group live --offsets --verbose
--describe --group live --members
--describe --group live --members --verbose
--describe --group live --state
--describe --group live --state --verbose
--describe --group lone
--describe --group lone --members
--describe --group lone --members --verbose
--describe --group idle
--describe --group idle --members
--describe --group idle --members --verbose
--describe --group idle --state
--describe --group joining
--describe --group joining --members --verbose
--describe --group joining --state
--describe --group nope
--describe --group nope --members
--describe --group nope --state
--describe --group workers
--describe --group ""
--describe --group live --group idle --group nope --group lone
--describe --group live --group idle --group nope --members
--describe --all-groups
--describe --all-groups --members
--describe --all-groups --members --verbose
--describe --all-groups --state
--reset-offsets --group live --topic orders --to-earliest --dry-run
--reset-offsets --group workers --topic orders --to-earliest --dry-run
--reset-offsets --group joining --topic orders --to-earliest --execute
--reset-offsets --group idle --to-earliest --dry-run
--reset-offsets --group idle --all-topics
--reset-offsets --group idle --all-topics --dry-run
--reset-offsets --group idle --topic orders --dry-run
--reset-offsets --group idle --topic orders --to-earliest
--reset-offsets --group idle --topic orders --to-earliest --dry-run
--reset-offsets --group idle --topic orders --to-latest --dry-run
--reset-offsets --group idle --topic orders --to-current --dry-run
--reset-offsets --group idle --topic orders --to-offset 5 --dry-run
--reset-offsets --group idle --topic orders --to-offset -5 --dry-run
--reset-offsets --group idle --topic orders --to-offset x --dry-run
--reset-offsets --group idle --topic orders --shift-by 1 --dry-run
--reset-offsets --group idle --topic orders:0,1 --shift-by 1 --dry-run
--reset-offsets --group idle --topic orders:0,1 --shift-by 9223372036854775807 --dry-run
--reset-offsets --group idle --topic orders:3,0 --shift-by -100 --dry-run
--reset-offsets --group idle --topic orders:0 --topic payments --to-latest --dry-run
--reset-offsets --group idle --topic orders:0 --topic orders --to-offset 4 --dry-run
--reset-offsets --group idle --topic orders:0,0 --shift-by 1 --dry-run
--reset-offsets --group idle --topic orders:9 --to-earliest --dry-run --timeout 700
--reset-offsets --group idle --topic nope:0 --to-earliest --dry-run --timeout 700
--reset-offsets --group idle --topic nope --to-earliest --dry-run
--reset-offsets --group idle --topic orders:x --to-earliest --dry-run
--reset-offsets --group idle --topic orders: --to-earliest --dry-run
--reset-offsets --group idle --topic "" --to-earliest --dry-run
--reset-offsets --group idle --topic orders:1:2 --to-earliest --dry-run
--reset-offsets --group idle --topic orders --to-datetime 2020-09-13T12:28:00.000 --dry-run
--reset-offsets --group idle --topic orders --to-datetime 2020-09-13T12:28:00.000Z --dry-run
--reset-offsets --group idle --topic orders --to-datetime 2020-09-13T14:28:00.000+02:00 --dry-run
--reset-offsets --group idle --topic orders --to-datetime 2020-09-13T14:28:00.000+02 --dry-run
--reset-offsets --group idle --topic orders --to-datetime 2020-09-13T14:28:00.000+0200 --dry-run
--reset-offsets --group idle --topic orders --to-datetime 2020-09-13T12:28:00 --dry-run
--reset-offsets --group idle --topic orders --to-datetime 2020-13-13T12:28:00.000 --dry-run
--reset-offsets --group idle --topic orders --to-datetime 2020-09-13 --dry-run
--reset-offsets --group idle --topic orders --to-datetime 2020-9-1T1:2:3.4 --dry-run
--reset-offsets --group idle --topic orders --to-datetime 2020-09-13T12:28:00.000-xyz --dry-run
--reset-offsets --group idle --topic orders --to-datetime 2030-09-13T12:28:00.000 --dry-run
--reset-offsets --group idle --topic orders --by-duration P1D --dry-run
--reset-offsets --group idle --topic orders --by-duration P20000D --dry-run
--reset-offsets --group idle --topic orders --by-duration -P1DT1H2M3.5S --dry-run
--reset-offsets --group idle --topic orders --by-duration pt1h --dry-run
--reset-offsets --group idle --topic orders --by-duration P --dry-run
--reset-offsets --group idle --topic orders --by-duration PT --dry-run
--reset-offsets --group idle --topic orders --by-duration 1D --dry-run
--reset-offsets --group idle --topic orders --by-duration P99999999999999999999D --dry-run
--reset-offsets --group idle --topic orders --by-duration P106751991167300D --dry-run
--reset-offsets --group idle --from-file P/single.csv --dry-run
--reset-offsets --group idle --from-file P/several.csv --dry-run
--reset-offsets --group idle --group spare --from-file P/several.csv --dry-run
--reset-offsets --group idle --from-file P/bad-second-line.csv --dry-run
--reset-offsets --group idle --from-file P/bad-partition.csv --dry-run
--reset-offsets --group idle --from-file P/bad-offset.csv --dry-run
--reset-offsets --group idle --from-file P/short.csv --dry-run
--reset-offsets --group idle --from-file P/quoted.csv --dry-run
--reset-offsets --group idle --from-file P/long.csv --dry-run
--reset-offsets --group idle --from-file P/negative.csv --dry-run
--reset-offsets --group idle --from-file P/line-ends.csv --dry-run
--reset-offsets --group idle --from-file P/old-line-ends.csv --dry-run
--reset-offsets --group idle --from-file P/another-group.csv --dry-run
--reset-offsets --group idle --from-file P/empty.csv --dry-run
--reset-offsets --group idle --from-file P/nope.csv --dry-run
--reset-offsets --group idle --topic orders --to-earliest --dry-run --export
--reset-offsets --group idle --all-topics --to-current --dry-run --export
--reset-offsets --group idle --group spare --all-topics --to-current --dry-run --export
--reset-offsets --group "one space" --group "a,b" --all-topics --to-latest --dry-run --export
--reset-offsets --group idle --group spare --group "one space" --all-topics --to-earliest --dry-run
--reset-offsets --all-groups --topic orders --to-earliest --dry-run
--reset-offsets --all-groups --topic orders --to-earliest --dry-run --export
--reset-offsets --group spare --topic orders --to-offset 1 --execute
--describe --group spare
--reset-offsets --group spare --topic orders --to-latest --execute --export
--describe --group spare
--reset-offsets --group "one space" --group spare --topic orders --to-current --execute
--reset-offsets --group fresh --topic orders --to-earliest --execute
--describe --group fresh
--reset-offsets --group idle --from-file P/several.csv --execute
--describe --group idle
--delete-offsets --group fresh --topic orders:0,2
--delete-offsets --group fresh --topic orders --topic payments --topic nope
--delete-offsets --group fresh --topic nope
--delete-offsets --group fresh --topic nope:0
--delete-offsets --group live --topic orders
--delete-offsets --group live --topic orders --topic nope
--delete-offsets --group nope --topic orders
--delete-offsets --group "" --topic orders:0
--delete-offsets --group workers --topic orders:0
--delete-offsets --group joining --topic orders:0
--delete-offsets --group spare --topic orders:x
--delete-offsets --group spare --topic ""
--delete-offsets --group spare --topic orders:1:2
--delete-offsets --group spare --group fresh --topic orders
--describe --group fresh
--delete --group nope
--delete --group ""
--delete --group live
--delete --group joining
--delete --group fresh
--delete --group spare --group "one space"
--delete --group idle --group live --group nope
--delete --group "a,b" --group workers
--list
--delete --all-groups
--list --state
"""
STREAMS = """
--application-id app1 --dry-run
--application-id app1 --input-topics orders --dry-run
--application-id app1 --input-topics orders,payments --intermediate-topics LONG --dry-run
--application-id app1 --input-topics orders,nope --intermediate-topics none,,neither --dry-run
--application-id app1 --input-topics nope --dry-run
--application-id app1 --input-topics orders --to-offset 5 --dry-run
--application-id app1 --input-topics orders --to-offset -1 --dry-run
--application-id app1 --input-topics orders --to-offset 100 --dry-run
--application-id app1 --input-topics orders --to-offset x --dry-run
--application-id app1 --input-topics orders --to-earliest --dry-run
--application-id app1 --input-topics orders --to-latest --dry-run
--application-id app1 --input-topics orders --shift-by 1 --dry-run
--application-id app1 --input-topics orders --shift-by -3 --dry-run
--application-id app1 --input-topics orders --shift-by 9223372036854775807 --dry-run
--application-id app1 --input-topics orders --to-datetime 2020-09-13T12:28:00.000 --dry-run
--application-id app1 --input-topics orders --to-datetime 2020-09-13 --dry-run
--application-id app1 --input-topics orders --by-duration P1D --dry-run
--application-id app1 --input-topics orders --by-duration PX --dry-run
--application-id app1 --input-topics orders --from-file P/whole.csv --dry-run
--application-id app1 --input-topics orders --from-file P/single.csv --dry-run
--application-id app1 --input-topics orders --from-file P/line-ends.csv --dry-run
--application-id app1 --input-topics orders --from-file P/several.csv --dry-run
--application-id app1 --input-topics orders --from-file P/another-group.csv --dry-run
--application-id app1 --input-topics orders --from-file P/bad-partition.csv --dry-run
--application-id app1 --input-topics orders --from-file P/empty.csv --dry-run
--application-id app1 --input-topics orders --from-file /no/such/file --dry-run
--application-id app1 --input-topics payments --from-file P/whole.csv --dry-run
--application-id app1 --internal-topics bogus --dry-run
--application-id app1 --internal-topics app1-store-changelog --dry-run
--application-id app1 --input-topics app1-store-changelog --dry-run
--application-id app1 --input-topics orders --application-id app2
--application-id live --input-topics orders
--application-id workers --input-topics orders
--application-id forced --input-topics orders --dry-run
--application-id forced --force --input-topics orders
--application-id app1 --input-topics orders --intermediate-topics LONG --internal-topics app1-x-repartition
--application-id app1 --input-topics orders --shift-by 2
--application-id app1 --dry-run
"""
RECORDS = """
--offset-json-file R/nothing.json
--offset-json-file R/orders.json
--offset-json-file R/orders.json
--offset-json-file R/unknown.json --command-config R/impatient.properties
"""


@dataclass(frozen=True)
class Life:
    """One tool's command lines, from the state that `prepare` makes."""

    tool: str
    main: Callable[[Sequence[str]], int]
    table: str
    prepare: Callable[[str], None]

    def texts(self) -> list[str]:
        return self.table.strip("\n").splitlines()

    def lines(self, bootstrap: str) -> list[Arguments]:
        return [self._line(text, bootstrap) for text in self.texts()]

    @staticmethod
    def _line(text: str, bootstrap: str) -> Arguments:
        for short, place in PLACES.items():
            text = text.replace(short, place)
        return ["--bootstrap-server", bootstrap, *shlex.split(text)]

    def of_apache(self, bootstrap: str, folder: Path) -> list[ToolRun]:
        """Blocks. What Apache's tool makes of every line."""
        self.prepare(bootstrap)
        return [masked(run) for run in run_apache(MAIN_CLASSES[self.tool], self.lines(bootstrap), folder)]

    def of_ours(self, bootstrap: str) -> list[ToolRun]:
        """Blocks. The same of ours."""
        self.prepare(bootstrap)
        return [masked(run) for run in run_ours(self.main, self.lines(bootstrap))]

    def differences(self, theirs: Sequence[ToolRun], ours: Sequence[ToolRun]) -> str:
        different = [
            f"{text}\n  Apache: {their}\n  ours:   {our}"
            for text, their, our in zip(self.texts(), theirs, ours, strict=True)
            if their != our
        ]
        return "" if not different else f"{len(different)} of {len(theirs)} differ:\n" + "\n".join(different)


def _nothing(bootstrap: str) -> None:
    """The state is as good after a run as before it."""


LIVES = {
    life.tool: life
    for life in (
        Life("consumer-groups", consumer_groups, GROUPS, group_states.reset),
        Life("streams-application-reset", reset_streams, STREAMS, group_states.prepare_streams),
        Life("delete-records", delete_records, RECORDS, _nothing),
    )
}
"""In this order: records that are gone do not come back."""

_IDS = allowed("ids-and-times")
MASKS = (
    Mask(re.compile(r"(-)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), r"\1<uuid>", _IDS),
    Mask(re.compile(r"127\.0\.0\.1:\d+  \(1\) *"), "<coordinator> ", _IDS),
    # Why the last try failed of those that went on to the end.
    Mask(
        re.compile(r"^Caused by: \S+\.DisconnectException: Cancelled .*\n", re.MULTILINE),
        "",
        allowed("races-of-clients", by_chance=True),
    ),
    Mask(re.compile(re.escape(str(FOLDER))), "<golden>", _IDS),
)


_MEMBERS = re.compile(r"^(GROUP +CONSUMER-ID .*\n)((?:(?!GROUP ).+\n)+)", re.MULTILINE)
_LISTED_MEMBERS = re.compile(r"(?<=following members: \[)\(memberId=.*\)(?=\]\.)")


def _in_order(text: str) -> str:
    """Members by name: Apache's broker keeps them in a hash map by their ids, which are made by chance."""
    text = _MEMBERS.sub(lambda match: match[1] + "".join(sorted(match[2].splitlines(keepends=True))), text)
    return _LISTED_MEMBERS.sub(lambda match: ", ".join(sorted(re.split(r", (?=\(memberId=)", match[0]))), text)


def masked(run: ToolRun) -> ToolRun:
    """The run without what differs between two clusters."""
    plain = comparable(run)

    def mask(text: str) -> str:
        return _in_order(masks.masked(text, MASKS))

    return ToolRun(plain.exit_code, mask(plain.stdout), mask(plain.stderr))


def written_down(life: Life) -> list[ToolRun]:
    """What Apache's tool printed on Apache's broker."""
    rows = [row for row in map(json.loads, GOLDEN.read_text().splitlines()) if row["tool"] == life.tool]
    assert [row["line"] for row in rows] == life.texts(), "the lines have changed: write the golden file anew"
    return [ToolRun(row["exit"], row["stdout"], row["stderr"]) for row in rows]


def _rows(bootstrap: str, folder: Path) -> Iterator[str]:
    for life in LIVES.values():
        for text, run in zip(life.texts(), life.of_apache(bootstrap, folder), strict=True):
            row = {
                "tool": life.tool,
                "line": text,
                "exit": run.exit_code,
                "stdout": run.stdout,
                "stderr": run.stderr,
            }
            yield json.dumps(row, ensure_ascii=False) + "\n"


def _write(folder: Path) -> None:
    zookeeper = EmbeddedZooKeeper(folder / "zookeeper")
    zookeeper.start()
    broker = ApacheBroker(folder / "broker", fresh_chroot(zookeeper, "golden"), broker_id=1).start()
    try:
        group_states.fill(broker.bootstrap)
        with group_states.members(broker.bootstrap):
            GOLDEN.write_text("".join(_rows(broker.bootstrap, folder)))
    finally:
        broker.stop()
        zookeeper.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        _write(Path(scratch))
