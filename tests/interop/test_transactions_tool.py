"""kafka-transactions.sh: each command line answered by ours as by Apache's, on the same cluster.

What a command line says that is wrong by itself is in tests/golden/tools/console-refusals.jsonl.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.client.admin.acls import AccessControlEntry, AclBinding, ResourcePattern
from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import NewTopic
from kafka_zk.protocol.acl import Operation, Permission, ResourceType
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.transactions.__main__ import main
from tests.integration.security.sasl_broker import PLAIN_MODULE, sasl_overrides
from tests.interop.tools import transaction_states
from tests.interop.tools.runs import comparable, run_apache, run_ours, unlike
from tests.support import masks
from tests.support.allowed import allowed
from tests.support.apache import ApacheBroker, ToolRun
from tests.support.broker import OurBroker
from tests.support.masks import Mask
from tests.support.processes import wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

MAIN_CLASS = "org.apache.kafka.tools.TransactionsCommand"
IMPATIENT = "--command-config tests/golden/tools/delete-records/impatient.properties"

LOOKED = f"""
list
list --duration-filter -5
list --duration-filter 0
list --duration-filter 3600000
describe --transactional-id committed
describe --transactional-id aborted
describe --transactional-id empty
describe --transactional-id open
describe --transactional-id=a-transactional-id-that-is-wider-than-its-heading
describe --transactional-id nobody
describe --transactional-id=
describe-producers --topic orders --partition 0
describe-producers --topic orders --partition 1
describe-producers --topic orders --partition 2
describe-producers --topic orders --partition 1 --broker-id 2
describe-producers --topic orders --partition 1 --broker-id 1
describe-producers --topic quiet --partition 0
describe-producers --topic __transaction_state --partition 0
describe-producers --topic b/d --partition 0
find-hanging
find-hanging --partition 1
find-hanging --broker-id 1
find-hanging --broker-id 2
find-hanging --broker-id 7
find-hanging --topic orders
find-hanging --topic orders --partition 1
find-hanging --topic orders --partition 2 --broker-id 1
find-hanging --topic orders --partition 2 --broker-id 2
find-hanging --topic orders --max-transaction-timeout 600
find-hanging --topic orders --max-transaction-timeout -1
find-hanging --topic quiet --max-transaction-timeout=0
find-hanging --topic nowhere
find-hanging --topic b/d
abort --topic orders --partition 1
abort --topic orders --partition 1 --producer-id 1
abort --topic orders --partition 1 --producer-id 1 --producer-epoch 1
abort --topic orders --partition 1 --start-offset 77
abort --topic b/d --partition 0 --start-offset 77
{IMPATIENT} describe-producers --topic nowhere --partition 0
{IMPATIENT} describe-producers --topic orders --partition 7
{IMPATIENT} describe-producers --topic orders --partition 7 --broker-id 1
{IMPATIENT} describe-producers --topic orders --partition 0 --broker-id 7
{IMPATIENT} find-hanging --topic nowhere --partition 0
{IMPATIENT} abort --topic nowhere --partition 0 --start-offset 0
{IMPATIENT} abort --topic orders --partition 7 --producer-id 1 --producer-epoch 1 --coordinator-epoch 0
--bootstrap-server 127.0.0.1:1 {IMPATIENT} list
--bootstrap-server 127.0.0.1:1 {IMPATIENT} describe --transactional-id open
--bootstrap-server 127.0.0.1:1 {IMPATIENT} find-hanging --broker-id 1
--bootstrap-server 127.0.0.1:1 {IMPATIENT} find-hanging --topic orders
--bootstrap-server 127.0.0.1:1 {IMPATIENT} abort --topic orders --partition 0 --start-offset 0
"""
# H is a topic of each tool's own.
ENDED = """
find-hanging --topic H
abort --topic H --partition 0 --start-offset 1
abort --topic H --partition 0 --start-offset 1
abort --topic H --partition 0 --producer-id 9000000002 --producer-epoch 0 --coordinator-epoch -1
abort --topic H --partition 0 --producer-id 9000000004 --producer-epoch 1 --coordinator-epoch 0
abort --topic H --partition 0 --producer-id 9000000004 --producer-epoch 2 --coordinator-epoch 9
abort --topic H --partition 0 --producer-id 9000000004 --producer-epoch 2 --coordinator-epoch 8
abort --topic H --partition 0 --start-offset 0
describe-producers --topic H --partition 0
find-hanging --topic H
"""
_TIMES = allowed("ids-and-times")
MASKS = (
    Mask(re.compile(r"(\t\d{13} {16}\t)\d+ *\t"), r"\1<duration>\t", _TIMES),
    Mask(re.compile(r"(\t\d{13}\t)\d+ *\t$", re.MULTILINE), r"\1<minutes>\t", _TIMES),
    # Markers are written when a tool says so.
    Mask(re.compile(r"\t\d{13}(\tNone)"), r"\t<time>\1", _TIMES),
)


@pytest.fixture(scope="module", params=transaction_states.CASES)
def bootstrap(
    request: pytest.FixtureRequest, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    chroot, folder = fresh_chroot(zookeeper, "transactions"), tmp_path_factory.mktemp("brokers")
    with transaction_states.cluster(transaction_states.CLUSTERS[request.param], chroot, folder) as brokers:
        yield transaction_states.bootstrap_of(brokers)


def command_lines(table: str, bootstrap: str, hung_topic: str = "") -> list[list[str]]:
    return [
        [
            *(() if "--bootstrap-server" in line else ("--bootstrap-server", bootstrap)),
            *(hung_topic if word == "H" else word for word in line.split()),
        ]
        for line in table.strip().splitlines()
    ]


def plain(run: ToolRun) -> ToolRun:
    run = comparable(run)
    texts = (re.sub("|".join(transaction_states.HUNG_TOPICS), "H", text) for text in (run.stdout, run.stderr))
    return ToolRun(run.exit_code, *(masks.masked(text, MASKS) for text in texts))


def assert_same(lines_of_theirs: list[list[str]], lines_of_ours: list[list[str]], folder: Path) -> None:
    different = unlike(
        lines_of_theirs,
        lines_of_ours,
        lambda lines: [plain(run) for run in run_apache(MAIN_CLASS, lines, folder)],
        lambda lines: [plain(run) for run in run_ours(main, lines)],
    )
    assert not different, "\n".join(different)


def test_every_look_at_transactions_shows_what_apaches_tool_shows(bootstrap: str, tmp_path: Path) -> None:
    lines = command_lines(LOOKED, bootstrap)
    assert_same(lines, lines, tmp_path)


def test_hanging_transactions_are_ended_as_apaches_tool_ends_them(bootstrap: str, tmp_path: Path) -> None:
    theirs, ours = (command_lines(ENDED, bootstrap, topic) for topic in transaction_states.HUNG_TOPICS)
    assert_same(theirs, ours, tmp_path)


@pytest.fixture(scope="module", params=[ApacheBroker, OurBroker])
def secured(
    request: pytest.FixtureRequest, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """How a command line begins for alice, who may describe, and for bob, who may nothing."""
    folder = tmp_path_factory.mktemp("secured")
    overrides = sasl_overrides(
        {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", "super.users": "User:ANONYMOUS"}
    )
    for_clients, for_brokers = (each.rpartition("://")[2] for each in overrides["listeners"].split(","))
    broker = request.param(folder, fresh_chroot(zookeeper, "secured"), broker_id=1, overrides=overrides).start()
    begins = {}
    for user in ("alice", "bob"):
        config = folder / f"{user}.properties"
        config.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
            f'sasl.jaas.config={PLAIN_MODULE} required username="{user}" password="{user}-secret";\n'
        )
        begins[user] = f"--bootstrap-server {for_clients} --command-config {config}"
    try:
        with AdminClient({"bootstrap.servers": for_brokers}) as admin:
            wait_until(lambda: admin.describe_cluster().nodes, "the broker knows itself")
            admin.create_topics([NewTopic("orders", 1, 1)])
            may_describe = AccessControlEntry("User:alice", "*", Operation.DESCRIBE, Permission.ALLOW)
            seen = ((ResourceType.TOPIC, "orders"), (ResourceType.TRANSACTIONAL_ID, "open"))
            admin.create_acls([AclBinding(ResourcePattern(*each), may_describe) for each in seen])
        open_one = transaction_states.begun(for_brokers, "open", TopicPartition("orders", 0))
        yield begins
        del open_one
    finally:
        broker.stop()


REFUSED = """
list
describe --transactional-id open
describe --transactional-id nobody
describe-producers --topic orders --partition 0
describe-producers --topic orders --partition 0 --broker-id 1
find-hanging --topic orders
find-hanging --broker-id 1
find-hanging --topic orders --partition 0
abort --topic orders --partition 0 --start-offset 0
abort --topic orders --partition 0 --producer-id 0 --producer-epoch 0 --coordinator-epoch 0
"""


@pytest.mark.parametrize("user", ["alice", "bob"])
def test_who_may_not_is_told_so_in_the_words_of_apaches_tool(
    secured: dict[str, str], user: str, tmp_path: Path
) -> None:
    lines = [f"{secured[user]} {line}".split() for line in REFUSED.strip().splitlines()]
    assert_same(lines, lines, tmp_path)


def test_what_is_masked_occurs(pytestconfig: pytest.Config) -> None:
    masks.skip_unless_whole(pytestconfig)
    assert masks.needless(MASKS) == []
