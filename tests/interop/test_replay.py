"""The same requests to Apache Kafka 3.9.1 and to us: every answer equal, but for what each side chooses itself.

So are the lines of the request logs, but for times.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.interop.replay import (
    alter_configs,
    bad_groups,
    cluster,
    configs,
    data,
    enforced_quotas,
    groups,
    inventory,
    quotas,
    request_log,
    topics,
    tried_values,
)
from tests.interop.replay.scenario import (
    BY_KIND,
    UNORDERED,
    Answers,
    Exchange,
    LeftOut,
    World,
    needed,
    needless,
    play,
)
from tests.interop.replay.znodes import CHANCE, Left, differences, left_behind
from tests.support import masks
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.zookeeper import ZooKeeperServer

SCENARIOS = {
    "topics": topics.EXCHANGES,
    "configs": configs.EXCHANGES,
    "alter configs": (*tried_values.EXCHANGES, *alter_configs.EXCHANGES),
    "data": data.EXCHANGES,
    "cluster": cluster.EXCHANGES,
    "groups": (*groups.EXCHANGES, *bad_groups.EXCHANGES),
    "quotas": (*quotas.EXCHANGES, *enforced_quotas.EXCHANGES),
    "inventory": inventory.EXCHANGES,
}

OVERRIDES = {"alter configs": alter_configs.SECRET, "configs": configs.STATIC}


NEEDED: set[str] = set()
"""What UNORDERED and BY_KIND left out of the scenarios so far, where it differed."""


class Side(NamedTuple):
    """What one broker answered (`plain`: with all that is its own), and what ZooKeeper held when it had."""

    answers: Answers
    plain: Answers
    left_out: LeftOut
    znodes: Left
    requests: Counter[str]
    """Lines of the request log."""


@pytest.fixture(scope="module", params=SCENARIOS)
def sides(
    request: pytest.FixtureRequest, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Side, Side]:
    """One scenario played on a fresh broker of each kind, the brokers stopped again."""
    folder: Path = tmp_path_factory.mktemp(request.param.replace(" ", "-"))
    sides: list[Side] = []
    for name, kind in (("apache", ApacheBroker), ("ours", OurBroker)):
        connect = f"{zookeeper.connect}/{folder.name}-{name}"
        broker = kind(folder / name, connect, overrides=OVERRIDES.get(request.param)).start()
        try:
            own = {connect: "<zookeeper>", str(broker.log_dir): "<log dir>"}
            world = World(broker.bootstrap, own)
            world.wait_until_known()
            request_log.switch_on(broker.bootstrap)
            answers = play(world, SCENARIOS[request.param])
            znodes = left_behind(connect)
        finally:
            broker.stop()
        log = folder / name / ("broker.log" if name == "apache" else "logs/kafka-request.log")
        lines = request_log.comparable(log, world, SCENARIOS[request.param])
        sides.append(Side(answers, world.plain, world.left_out, znodes, lines))
    return request.param, sides[0], sides[1]


def test_answers_are_equal(sides: tuple[str, Side, Side]) -> None:
    scenario, apache, ours = sides[0], sides[1].answers, sides[2].answers
    assert apache.keys() ^ ours.keys() == set()
    different = [
        f"{name} v{version}:\n  Apache: {apache[name, version]}\n  ours:   {ours[name, version]}"
        for name, version in apache
        if apache[name, version] != ours[name, version]
    ]
    assert not different, f"{len(different)} of {len(apache)} answers in {scenario} differ:\n" + "\n".join(different)


def test_what_is_ignored_differs(sides: tuple[str, Side, Side]) -> None:
    scenario, apache, ours = sides
    found = needless(SCENARIOS[scenario], apache.left_out, ours.left_out)
    assert found == [], "equal by now: compare it"
    NEEDED.update(needed(apache.plain, ours.plain))


def test_zookeeper_holds_the_same(sides: tuple[str, Side, Side]) -> None:
    scenario, apache, ours = sides[0], sides[1].znodes, sides[2].znodes
    assert len(apache) > 20
    different = differences(scenario, apache, ours)
    assert not different, f"{len(different)} znodes differ after {scenario}:\n" + "\n".join(different)


def test_the_request_logs_are_equal(sides: tuple[str, Side, Side]) -> None:
    scenario, apache, ours = sides[0], sides[1].requests, sides[2].requests
    assert apache.total() > 20
    different = [
        f"Apache {apache[line]}, ours {ours[line]}: {line}" for line in sorted((apache - ours) | (ours - apache))
    ]
    assert not different, f"{len(different)} lines differ in {scenario}:\n" + "\n".join(different)


def test_every_exchange_has_a_name_of_its_own() -> None:
    for exchanges in SCENARIOS.values():
        names = [exchange.name for exchange in exchanges if isinstance(exchange, Exchange)]
        assert len(names) == len(set(names))


def test_what_is_left_out_of_every_scenario_differs_in_one(pytestconfig: pytest.Config) -> None:
    masks.skip_unless_whole(pytestconfig)
    reasons = {**UNORDERED, **BY_KIND}
    assert {name: reason.row for name, reason in reasons.items() if name not in NEEDED} == {}
    assert masks.needless(CHANCE) == []
