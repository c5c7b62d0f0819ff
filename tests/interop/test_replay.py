"""The same requests to Apache Kafka 3.9.1 and to us: every answer equal, but for what each side chooses itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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
    topics,
    tried_values,
)
from tests.interop.replay.scenario import Answers, Exchange, World, play
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

ZNODES = {"quotas": quotas.ZNODES}
"""What a scenario leaves in ZooKeeper, which must be equal too."""


OVERRIDES = {"alter configs": alter_configs.SECRET, "configs": configs.STATIC}
STORED = {"alter configs": alter_configs.stored}
"""What the exchanges left in ZooKeeper must be equal, too."""


@pytest.fixture(scope="module", params=SCENARIOS)
def answers(
    request: pytest.FixtureRequest, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Answers, Answers]]:
    """One scenario played on a fresh broker of each kind, the brokers stopped again."""
    folder: Path = tmp_path_factory.mktemp(request.param.replace(" ", "-"))
    sides: list[Answers] = []
    for name, kind in (("apache", ApacheBroker), ("ours", OurBroker)):
        connect = f"{zookeeper.connect}/{folder.name}-{name}"
        broker = kind(folder / name, connect, overrides=OVERRIDES.get(request.param)).start()
        try:
            own = {connect: "<zookeeper>", str(broker.log_dir): "<log dir>"}
            sides.append(play(World(broker.bootstrap, own), SCENARIOS[request.param]))
            if request.param in STORED:
                sides[-1]["stored", 0] = STORED[request.param](connect)
        finally:
            broker.stop()
    yield request.param, sides[0], sides[1]


def test_answers_are_equal(answers: tuple[str, Answers, Answers]) -> None:
    scenario, apache, ours = answers
    assert apache.keys() ^ ours.keys() == set()
    different = [
        f"{name} v{version}:\n  Apache: {apache[name, version]}\n  ours:   {ours[name, version]}"
        for name, version in apache
        if apache[name, version] != ours[name, version]
    ]
    assert not different, f"{len(different)} of {len(apache)} answers in {scenario} differ:\n" + "\n".join(different)


def test_every_exchange_has_a_name_of_its_own() -> None:
    for exchanges in SCENARIOS.values():
        names = [exchange.name for exchange in exchanges if isinstance(exchange, Exchange)]
        assert len(names) == len(set(names))
