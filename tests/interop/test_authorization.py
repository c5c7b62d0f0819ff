"""AclAuthorizer beside Apache's: the same requests by clients with few rights, the same answers and audit lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes.access import AclEntry, ResourceZNode
from tests.interop.replay import authorization
from tests.interop.replay.scenario import NO_ANSWER, Answers, World, play
from tests.support import masks
from tests.support.allowed import allowed
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.zookeeper import ZooKeeperServer

AUTHORIZER = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}
AUDIT_LINE = re.compile(r"\] (\w+) (Principal = .*? resourceRefCount = \d+)")


EXCUSES = [
    masks.Excuse(
        "a refusal that Apache never sends",
        allowed("unauthorized-scram-description"),
        lambda name, apache: name.startswith("describe users") and apache == NO_ANSWER,
    )
]
REQUEST = masks.Mask(
    re.compile(r"Request Request\(.*\) is not"), "Request is not", allowed("unauthorized-request-text")
)


class Side(NamedTuple):
    """What one broker answered, and its audit log."""

    answers: Answers
    audit: Counter[str]


def without_internals(value: Any) -> Any:
    """Kafka's text about a request, without the addresses of objects in it."""
    if isinstance(value, dict):
        return {name: without_internals(item) for name, item in value.items()}
    if isinstance(value, list):
        return [without_internals(item) for item in value]
    return masks.masked(value, [REQUEST]) if isinstance(value, str) else value


def in_order(value: Any, names: Mapping[str, str]) -> Any:
    """With some names in place of others, and every list sorted."""
    if isinstance(value, dict):
        return {name: in_order(item, names) for name, item in value.items()}
    if isinstance(value, list):
        return sorted((in_order(item, names) for item in value), key=repr)
    return names.get(value, value) if isinstance(value, str) else value


def put_rules(connect: str, rules: Mapping[tuple[str, str, str], list[AclEntry]]) -> None:
    zk = ZkClient(connect)
    zk.start()
    for (store, kind, name), entries in rules.items():
        zk.create(ResourceZNode.path(store, kind, name), ResourceZNode.encode(entries), make_parents=True)
    zk.close()


@pytest.fixture(scope="module")
def sides(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[Side, Side]:
    folder: Path = tmp_path_factory.mktemp("authorization")
    sides: list[Side] = []
    for name, kind in (("apache", ApacheBroker), ("ours", OurBroker)):
        connect = f"{zookeeper.connect}/{folder.name}-{name}"
        put_rules(connect, authorization.RULES)
        broker = kind(folder / name, connect, overrides=AUTHORIZER).start()
        try:
            world = World(broker.bootstrap, {connect: "<zookeeper>", str(broker.log_dir): "<log dir>"})
            play(world, authorization.PREPARED)
            answers = play(world, (*authorization.SESSION, *authorization.ACLS))
        finally:
            broker.stop()
        log = folder / name / ("broker.log" if name == "apache" else "logs/kafka-authorizer.log")
        lines = AUDIT_LINE.findall(log.read_text())
        sides.append(Side(answers, Counter(f"{level} {line}" for level, line in lines)))
    return sides[0], sides[1]


def test_clients_with_few_rights_are_told_the_same(sides: tuple[Side, Side]) -> None:
    """(security 12.30)"""
    apache, ours = sides[0].answers, sides[1].answers
    assert apache.keys() == ours.keys()
    apache = {key: without_internals(answer) for key, answer in apache.items()}
    different = [
        f"{name} v{version}:\n  Apache: {apache[name, version]}\n  ours:   {ours[name, version]}"
        for name, version in apache
        if apache[name, version] != ours[name, version] and not masks.excused(EXCUSES, name, apache[name, version])
    ]
    assert not different, f"{len(different)} of {len(apache)} answers differ:\n" + "\n".join(different)
    assert masks.needless([*EXCUSES, REQUEST]) == []


def test_what_is_forbidden_looks_like_what_is_missing(sides: tuple[Side, Side]) -> None:
    """(security 12.30) Exchanging the two names changes no answer to somebody without rights."""
    hidden, missing, _ = authorization.TOPICS
    exchanged = {hidden: missing, missing: hidden}
    compared = 0
    for (name, version), answer in sides[1].answers.items():
        if authorization.NOBODY in name and hidden in repr(answer):
            compared += 1
            assert in_order(answer, exchanged) == in_order(answer, {}), f"{name} v{version}"
    assert compared > 50


def test_the_audit_logs_are_the_same(sides: tuple[Side, Side]) -> None:
    """(security 12.34)"""
    apache, ours = (
        Counter({line: count for line, count in side.audit.items() if "host = 127.0.0.1" not in line}) for side in sides
    )
    assert sum(apache.values()) > 500
    lines = sorted((apache - ours) | (ours - apache))
    assert not lines, "\n".join(f"Apache {apache[line]} ours {ours[line]}: {line}" for line in lines)
