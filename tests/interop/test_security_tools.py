"""kafka-acls.sh and kafka-delegation-tokens.sh: each command line answered as Apache's tool answers it.

Java's sets have no steady order where enums are hashed: lines are compared as a set.
"""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_zk.client.admin.acls import ANY_PATTERN
from kafka_zk.client.admin.admin_client import AdminClient
from tests.integration.security.sasl_broker import PLAIN_MODULE, sasl_overrides
from tests.interop.tools.runs import run_apache, run_ours
from tests.support.apache import ApacheBroker, ToolRun
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

CLASSES = {
    "acls": "kafka.admin.AclCommand",
    "delegation_tokens": "org.apache.kafka.tools.DelegationTokenCommand",
}
AUTHORIZED = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS;User:alice",
    "delegation.token.secret.key": "secret-3",
}

# B is the broker, C the client's configuration, Z ZooKeeper; what is wrong by itself reaches nobody.
WRONG = """

--help
--version
--bogus
--add
--bootstrap-server B
--bootstrap-server B --list --add
--bootstrap-server B --list --producer
--bootstrap-server B --list --allow-host h
--bootstrap-server B --authorizer y --add
--command-config x --authorizer-properties zookeeper.connect=Z --add
--bootstrap-server B --authorizer-properties zookeeper.connect=Z --add
--bootstrap-server B --add --producer --operation Read --topic t
--bootstrap-server B --add --principal User:a
--bootstrap-server B --add --producer
--bootstrap-server B --add --idempotent --topic t
--bootstrap-server B --add --consumer --topic t
--bootstrap-server B --add --consumer --topic t --group g --cluster
--bootstrap-server B --add --topic t --operation Foo --allow-principal User:a
--bootstrap-server B --add --group g --operation Write --allow-principal User:a
--bootstrap-server B --add --topic t --allow-principal alice
--bootstrap-server B --add --allow-principal User:a
--bootstrap-server B --add --topic t
--bootstrap-server B --add --topic t --resource-pattern-type any --allow-principal User:a
--bootstrap-server B --add --topic t --resource-pattern-type bad --allow-principal User:a
--bootstrap-server B --add --topic t --allow-principal User:a --command-config /no/such
--authorizer com.example.Own --authorizer-properties zookeeper.connect=Z --list
"""
SESSION = """
--add --topic t1 --allow-principal User:alice --operation Read
--add --topic t1 --allow-principal User:alice --allow-principal User:bob --allow-host 10.0.0.1 --operation Read
--add --topic t1 --deny-principal User:eve
--add --topic orders- --resource-pattern-type prefixed --producer --allow-principal User:alice
--add --topic t2 --group g2 --consumer --allow-principal User:bob
--add --topic t3 --group g3 --producer --consumer --idempotent --allow-principal User:bob
--add --cluster --operation Alter --allow-principal User:ops
--add --transactional-id x1 --topic t4 --producer --allow-principal User:alice
--add --delegation-token tok --operation Describe --allow-principal User:alice
--add --user-principal User:alice --operation CreateTokens --allow-principal User:bob
--add --topic * --operation Describe --allow-principal User:*
--add --topic t/5 --allow-principal User:alice
--list
--list --topic t1
--list --topic orders-1 --resource-pattern-type match
--list --topic t1 --resource-pattern-type any
--list --principal User:alice --principal User:nobody
--list --topic none
--list --group g2 --cluster
--remove --topic t1 --allow-principal User:alice --operation Read --force
--remove --topic t2 --force
--remove --topic orders-1 --resource-pattern-type match --force
--remove --topic t3 --group g3 --consumer --allow-principal User:bob
--list
"""


class Cluster(NamedTuple):
    broker: str
    config: Path
    zookeeper: str


@pytest.fixture(scope="module")
def clusters(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Cluster]]:
    """One of each kind, and for each who logs in there."""
    started: list[OurBroker | ApacheBroker] = []
    found = {}
    for kind in (OurBroker, ApacheBroker):
        folder = tmp_path_factory.mktemp(kind.__name__)
        chroot = fresh_chroot(zookeeper, kind.__name__.lower())
        overrides = sasl_overrides(AUTHORIZED)
        address = overrides["listeners"].partition(",")[0].rpartition("://")[2]
        broker = kind(folder, chroot, overrides=overrides)
        broker.launch()
        started.append(broker)
        config = folder / "client.properties"
        config.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
            f'sasl.jaas.config={PLAIN_MODULE} required username="alice" password="alice-secret";\n'
        )
        found[kind.__name__] = Cluster(address, config, chroot)
    for broker in started:
        broker.wait_ready()
    yield found
    for broker in started:
        broker.stop()


def _words(cluster: Cluster, line: str) -> list[str]:
    named = {"B": cluster.broker, "C": str(cluster.config)}
    return [named.get(word, word).replace("=Z", f"={cluster.zookeeper}") for word in shlex.split(line)]


def ours(tool: str, cluster: Cluster, lines: Sequence[str], stdin: str = "") -> list[ToolRun]:
    main = importlib.import_module(f"kafka_zk.tools.{tool}.__main__").main
    return run_ours(main, [_words(cluster, line) for line in lines], dict.fromkeys(range(len(lines)), stdin))


def apaches(tool: str, cluster: Cluster, lines: Sequence[str], stdin: str = "") -> list[ToolRun]:
    inputs = dict.fromkeys(range(len(lines)), stdin)
    return run_apache(CLASSES[tool], [_words(cluster, line) for line in lines], cluster.config.parent, inputs)


def plain(text: str, cluster: Cluster) -> str:
    """Without addresses, ids, HMACs, times and the files' names."""
    text = text.replace(cluster.broker, "B").replace(str(cluster.config), "C")
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d", "TIME", text)
    return re.sub(r"(?<![\w/+-])(?:[\w-]{22}|[\w/+]{86}==)(?![\w/+-])", "ID", text)


def seen(run: ToolRun, cluster: Cluster) -> tuple[int, list[str], list[str]]:
    """Exit code and lines: without stack frames and log lines, and in no order."""

    def lines(text: str) -> list[str]:
        kept = [
            ", ".join(sorted(line.split(", "))) if "only supports operations" not in line else
            " ".join(sorted(line.replace(",", "").split()))
            for line in plain(text, cluster).splitlines()
            if not re.match(r"\s+at |\s+\.\.\. \d+ more|\[\d{4}-", line)
        ]  # fmt: skip
        return sorted(line.strip() for line in kept)

    return run.exit_code, lines(run.stdout), lines(run.stderr)


START = "--bootstrap-server B --command-config C"


def test_what_is_wrong_by_itself_is_told_in_the_same_words(clusters: dict[str, Cluster]) -> None:
    cluster, lines = clusters["ApacheBroker"], WRONG.splitlines()[1:]
    assert differences(lines, ours("acls", cluster, lines), apaches("acls", cluster, lines), cluster, cluster) == {}


@pytest.mark.parametrize("kind", ["OurBroker", "ApacheBroker"])
def test_a_session_over_the_brokers_is_the_same(clusters: dict[str, Cluster], kind: str) -> None:
    """Ours on each kind of broker, as Apache's on its own."""
    lines = [f"{START} {line}" for line in SESSION.splitlines()[1:]]
    reference, cluster = clusters["ApacheBroker"], clusters[kind]
    clear(reference)
    expected = apaches("acls", reference, lines)
    clear(reference)
    clear(cluster)
    assert differences(lines, ours("acls", cluster, lines), expected, cluster, reference) == {}


def test_past_the_brokers_the_same_rules_are_in_the_same_znodes(clusters: dict[str, Cluster]) -> None:
    cluster = clusters["ApacheBroker"]
    clear(cluster)
    at = "--authorizer-properties zookeeper.connect=Z"
    add = f"{at} --add --allow-principal User:alice --operation Read --topic"
    lists = [f"{at} --list"]
    mine = ours("acls", cluster, [f"{add} by-ours"])
    theirs = apaches("acls", cluster, [f"{add} by-apaches", *lists])
    assert "by-ours" in theirs[1].stdout
    assert differences(lists, ours("acls", cluster, lists), theirs[1:], cluster, cluster) == {}
    assert [run.exit_code for run in (*mine, *theirs)] == [0, 0, 0]
    removed = ours("acls", cluster, [f"{at} --remove --topic by-apaches --force"])
    assert removed[0].exit_code == 0
    with client(cluster) as admin:
        wait_until(lambda: [each.pattern.name for each in admin.describe_acls()] == ["by-ours"], "the broker follows")


@pytest.mark.parametrize(("answer", "left"), [("y\n", 0), ("n\n", 1), ("Y\n", 0)])
def test_a_removal_asks_first(clusters: dict[str, Cluster], answer: str, left: int) -> None:
    cluster = clusters["ApacheBroker"]
    lines = [f"{START} --add --topic t --allow-principal User:alice", f"{START} --remove --topic t"]
    outcomes = []
    for by in (ours, apaches):
        clear(cluster)
        outcomes.append(by("acls", cluster, lines, answer))
        with client(cluster) as admin:
            assert len(admin.describe_acls()) == left
    assert differences(lines, outcomes[0], outcomes[1], cluster, cluster) == {}


TOKEN_LINES = """

--help
--create
--bootstrap-server B --command-config C
--bootstrap-server B --command-config C --create --renew
--bootstrap-server B --command-config C --create
--bootstrap-server B --command-config C --renew
--bootstrap-server B --command-config C --describe --hmac x
--bootstrap-server B --command-config C --expire --hmac x
--bootstrap-server B --command-config C --create --max-life-time-period x
--bootstrap-server B --command-config C --create --max-life-time-period -1 --renewer-principal bob
--bootstrap-server B --command-config C --create --max-life-time-period -1 --renewer-principal User:bob
--bootstrap-server B --command-config C --create --max-life-time-period 3600000 --owner-principal User:bob
--bootstrap-server B --command-config C --describe --owner-principal User:nobody
--bootstrap-server B --command-config C --renew --hmac bm9ib2R5 --renew-time-period -1
--bootstrap-server B --command-config C --expire --hmac bm9ib2R5 --expiry-time-period -1
--bootstrap-server B --command-config /no/such --describe
"""


def test_tokens_are_made_and_described_in_the_same_words(clusters: dict[str, Cluster]) -> None:
    cluster, other, lines = clusters["OurBroker"], clusters["ApacheBroker"], TOKEN_LINES.splitlines()[1:]
    mine, theirs = ours("delegation_tokens", cluster, lines), apaches("delegation_tokens", other, lines)
    assert differences(lines, mine, theirs, cluster, other) == {}


def test_a_token_is_renewed_and_ended_by_its_hmac(clusters: dict[str, Cluster]) -> None:
    cluster = clusters["OurBroker"]
    (made,) = ours("delegation_tokens", cluster, [f"{START} --create --max-life-time-period -1"])
    hmac = made.stdout.splitlines()[-1].split()[1]
    renewed, ended, described = ours(
        "delegation_tokens",
        cluster,
        [
            f"{START} --renew --hmac {hmac} --renew-time-period 60000",
            f"{START} --expire --hmac {hmac} --expiry-time-period -1",
            f"{START} --describe",
        ],
    )
    assert renewed.exit_code == 0 and "Completed renew operation. New expiry date : " in renewed.stdout
    assert ended.exit_code == 0 and "Completed expire operation. New expiry date : " in ended.stdout
    assert hmac not in described.stdout


def differences(
    lines: Sequence[str], mine: Sequence[ToolRun], theirs: Sequence[ToolRun], my: Cluster, their: Cluster
) -> dict[str, object]:
    """What was answered otherwise, by command line."""
    return {
        line: (seen(our, my), seen(their_run, their))
        for line, our, their_run in zip(lines, mine, theirs, strict=True)
        if seen(our, my) != seen(their_run, their)
    }


def client(cluster: Cluster) -> AdminClient:
    pairs = (line.partition("=") for line in cluster.config.read_text().splitlines())
    return AdminClient({"bootstrap.servers": cluster.broker, **{key: value for key, _, value in pairs}})


def clear(cluster: Cluster) -> None:
    with client(cluster) as admin:
        admin.delete_acls(ANY_PATTERN)
