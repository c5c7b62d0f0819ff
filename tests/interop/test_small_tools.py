"""Tools that look at brokers: each command line answered by ours as by Apache's, on Apache's broker and on ours."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.replay.scenario import World
from tests.interop.tools.runs import comparable, run_apache, run_ours, unlike
from tests.support import masks
from tests.support.allowed import allowed
from tests.support.apache import ApacheBroker, ToolRun
from tests.support.broker import OurBroker
from tests.support.masks import Mask
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

# B is the broker. What is wrong by itself is asked of one broker only.
TOOLS = {
    "e2e_latency": "org.apache.kafka.tools.EndToEndLatency",
    "log_dirs": "org.apache.kafka.tools.LogDirsCommand",
    "broker_api_versions": "kafka.admin.BrokerApiVersionsCommand",
    "cluster": "org.apache.kafka.tools.ClusterTool",
    "features": "org.apache.kafka.tools.FeatureCommand",
}
WRONG_BY_ITSELF = {
    "log_dirs": """

--help
--version
--bogus
--describe
--bootstrap-server B
--bootstrap-server B --topic-list t
--bootstrap-server B --describe --broker-list
--bootstrap-server B --describe --command-config /no/such
--bootstrap-server B --describe --bootstrap-server B
--bootstrap-server foo --describe
""",
    "broker_api_versions": """

--help
--version
--bogus
--command-config x
--bootstrap-server
--bootstrap-server foo
--bootstrap-server ,
--bootstrap-server B --command-config /no/such
--bootstrap-server B --bootstrap-server B
--bootstrap-server 127.0.0.1:1
""",
    "e2e_latency": """

--help
a b
B e2e 3 2 10
B e2e 3 0 10
B e2e x 1 10
B e2e 3 1 x
B e2e 3 1 10 /no/such
B e2e 3 1 10 /no/such more
foo e2e 1 all 1
""",
}
# Refusals of these two's parser end the virtual machine: they are in tests/golden/tools.
WRONG_BY_ITSELF["cluster"] = """
cluster-id -b foo
cluster-id -b B -c /no/such
cluster-id -b 127.0.0.1:1 -c tests/golden/tools/delete-records/impatient.properties
unregister -b 127.0.0.1:1 --id 1 -c tests/golden/tools/delete-records/impatient.properties
"""
WRONG_BY_ITSELF["features"] = """
--bootstrap-server foo describe
--bootstrap-server= desc
--bootstrap-server B --command-config /no/such describe
--bootstrap-server 127.0.0.1:1 --command-config tests/golden/tools/delete-records/impatient.properties describe
--bootstrap-server B --bootstrap-server foo describe
--bootstrap-server B upgrade
--bootstrap-server B downgrade --dry-run
--bootstrap-server B disable --unsafe
--bootstrap-server B upgrade --metadata 9.9
--bootstrap-server B upgrade --metadata 3.9.
--bootstrap-server B upgrade --metadata 2.8
--bootstrap-server B upgrade --metadata 3.3 --feature metadata.version=2
--bootstrap-server B upgrade --feature a
--bootstrap-server B upgrade --feature a=x
--bootstrap-server B upgrade --feature a=32768
--bootstrap-server B upgrade --feature a=0
--bootstrap-server B downgrade --feature a=-1
--bootstrap-server B upgrade --feature =1
--bootstrap-server B upgrade --feature a=1 --feature a=1
--bootstrap-server B disable --feature a --feature a
--bootstrap-server B disable --feature=
"""
ASKED = {
    "e2e_latency": """
B e2e-T 0 1 10
B e2e-T -1 1 10
B e2e-T 3 1 -1
B e2e-T 3 all 10
B e2e-T 1 1 0
B e2e-T 1 1 1048577
""",
    # What the measurement above left behind.
    "log_dirs": """
--bootstrap-server B --describe
--bootstrap-server B --describe --describe extra
--bootstrap-server B --describe --topic-list e2e-theirs
--bootstrap-server B --describe --topic-list e2e-theirs,nowhere
--bootstrap-server B --describe --topic-list nowhere
--bootstrap-server B --describe --topic-list ,
--bootstrap-server B --describe --broker-list 0
--bootstrap-server B --describe --broker-list 0,0,
--bootstrap-server B --describe --broker-list 0,7,19,3,35
--bootstrap-server B --describe --broker-list a
""",
    "cluster": """
cluster-id --bootstrap-server B
cluster-id --bootstrap-serv=127.0.0.1:1 -b B
cluster-id -C B
cluster-i -b B
unregister -b B --id 3
unregister --i 0 --bootstrap-s B
""",
    "features": """
--bootstrap-server B describe
--bootstrap-server=B desc
--bootstrap-server B upgrade --metadata 3.9
--bootstrap-server B up --meta=3.0-IV1 --feat=b=2 --feature a=+1 --dry
--bootstrap-server B downgrade --metadata 4.0-IV1 --feature c=32767 --feature c.=1
--bootstrap-server B downgrade --unsafe --feature a=0
--bootstrap-server B disable --feature metadata.version
--bootstrap-server B disable --feature b --feature a=1 --unsafe --dry-run
--bootstrap-controller B upgrade --feature a=1
--bootstrap-controller B describe
""",
    "broker_api_versions": """
--bootstrap-server B
--bootstrap-server B extra
""",
}
_TIMES = allowed("ids-and-times")
MASKS = (
    Mask(re.compile(r"\b\d+\.\d+(E-?\d+)?( ms)?$", re.MULTILINE), "<time>", _TIMES),
    Mask(re.compile(r"(\d+th|99\.9th) = \d+"), r"\1 = <time>", _TIMES),
    Mask(re.compile(r"e2e-(theirs|ours)"), "e2e-T", _TIMES),
)


@pytest.fixture(scope="module", params=[ApacheBroker, OurBroker])
def broker(
    request: pytest.FixtureRequest, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApacheBroker | OurBroker]:
    broker = request.param(tmp_path_factory.mktemp("broker"), fresh_chroot(zookeeper, "tools"))
    broker.start()
    World(broker.bootstrap).wait_until_known()
    yield broker
    broker.stop()


def words(text: str, bootstrap: str, side: str) -> list[list[str]]:
    """The command lines of a table, with the broker's address and a topic of each side's own."""
    return [
        [bootstrap if word == "B" else word.replace("e2e-T", f"e2e-{side}") for word in line.split()]
        for line in text.removeprefix("\n").splitlines()
    ]


def plain(run: ToolRun) -> ToolRun:
    text = masks.masked(comparable(run).stdout, MASKS)
    return comparable(ToolRun(run.exit_code, text, run.stderr))


@pytest.mark.parametrize("tool", TOOLS)
def test_every_command_line_is_answered_as_apaches_tool_answers_it(
    tool: str, broker: ApacheBroker | OurBroker, tmp_path: Path
) -> None:
    text = ASKED[tool].removeprefix("\n")
    if isinstance(broker, ApacheBroker):
        text = WRONG_BY_ITSELF[tool].removeprefix("\n") + text
    lines = words(text, broker.bootstrap, "ours")
    main = importlib.import_module(f"kafka_zk.tools.{tool}.__main__").main
    different = unlike(
        words(text, broker.bootstrap, "theirs"),
        lines,
        lambda asked: [plain(run) for run in run_apache(TOOLS[tool], asked, tmp_path)],
        lambda asked: [plain(run) for run in run_ours(main, asked)],
    )
    assert not different, "\n".join(different)


def test_what_is_masked_occurs(pytestconfig: pytest.Config) -> None:
    masks.skip_unless_whole(pytestconfig)
    assert masks.needless(MASKS) == []
