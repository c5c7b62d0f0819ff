"""Transactional calls to Apache Kafka 3.9.1 and to a peer: every answer equal, and so is what they leave behind.

The peer may be Apache too: two of its brokers show that what differs between them is named here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.interop.replay import random_transactions, request_log, transactions
from tests.interop.replay.scenario import CLOSED, NO_ANSWER, Answers, Exchange, LeftOut, World, needless, play
from tests.interop.replay.znodes import Left, differences, left_behind
from tests.support import seeds
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.timeless import OFFSETS, TRANSACTIONS, Picture, pictures, pictures_of_log
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

Kind = type[ApacheBroker | OurBroker]
PEERS: dict[str, Kind] = {"apache": ApacheBroker, "ours": OurBroker}
SCRIPTED, RANDOM = "scripted", "random"
RANDOM_CALLS = 600
SOME = 200
"""Answers that each scenario has at least."""
FEW = 5
"""Batches that each topic has at least."""


class Side(NamedTuple):
    """What one broker answered (`plain`: with all that is its own), and what it left behind."""

    answers: Answers
    plain: Answers
    left_out: LeftOut
    znodes: Left
    requests: Counter[str]
    """Lines of the request log."""
    log_dir: Path
    is_ours: bool


def played(kind: Kind, home: Path, connect: str, exchanges: Sequence[Exchange]) -> Side:
    broker = kind(home, connect).start()
    try:
        world = World(broker.bootstrap, {connect: "<zookeeper>", str(broker.log_dir): "<log dir>"})
        world.wait_until_known()
        request_log.switch_on(broker.bootstrap)
        answers = play(world, exchanges)
        znodes = left_behind(connect)
    finally:
        broker.stop()
    log = home / ("broker.log" if kind is ApacheBroker else "logs/kafka-request.log")
    return Side(
        answers,
        world.plain,
        world.left_out,
        znodes,
        request_log.comparable(log, world, exchanges),
        broker.log_dir,
        kind is OurBroker,
    )


class Stage:
    """Plays scenarios, each on a broker of its own."""

    def __init__(self, zookeeper: ZooKeeperServer, folders: pytest.TempPathFactory, seed: int) -> None:
        self._zookeeper, self._folders = zookeeper, folders
        self.scenarios = {SCRIPTED: transactions.EXCHANGES, RANDOM: random_transactions.drawn(seed, RANDOM_CALLS)}

    def played(self, scenario: str, kind: Kind) -> Side:
        home = self._folders.mktemp(f"{scenario}-{kind.__name__}")
        return played(kind, home, fresh_chroot(self._zookeeper, home.name), self.scenarios[scenario])


@pytest.fixture(scope="module")
def stage(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Stage:
    return Stage(zookeeper, tmp_path_factory, pytestconfig.stash[seeds.SEED])


@pytest.fixture(scope="module", params=[SCRIPTED, RANDOM])
def scenario(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def apache(stage: Stage, scenario: str) -> Side:
    return stage.played(scenario, ApacheBroker)


@pytest.fixture(scope="module", params=["ours", pytest.param("apache", marks=pytest.mark.slow)])
def peer(request: pytest.FixtureRequest, stage: Stage, scenario: str) -> Side:
    return stage.played(scenario, PEERS[request.param])


def with_pictures(value: Any, key: str = "") -> Any:
    """An answer with pictures of its batches in the place of their bytes."""
    if isinstance(value, dict):
        return {name: with_pictures(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [with_pictures(item) for item in value]
    return pictures(value) if key == "records" and value else value


def test_answers_are_equal(apache: Side, peer: Side) -> None:
    assert apache.answers.keys() ^ peer.answers.keys() == set()
    pairs = ((key, with_pictures(apache.answers[key]), with_pictures(peer.answers[key])) for key in apache.answers)
    different = [
        f"{name} v{version}:\n  Apache: {theirs}\n  peer:   {own}"
        for (name, version), theirs, own in pairs
        if theirs != own
    ]
    assert not different, f"{len(different)} of {len(apache.answers)} answers differ:\n" + "\n".join(different)


def test_nobody_is_left_without_an_answer(apache: Side) -> None:
    assert len(apache.answers) > SOME
    assert {key for key, answer in apache.answers.items() if answer in (CLOSED, NO_ANSWER)} == set()


def test_what_is_ignored_differs(stage: Stage, scenario: str, apache: Side, peer: Side) -> None:
    if peer.is_ours:
        assert needless(stage.scenarios[scenario], apache.left_out, peer.left_out) == [], "equal by now: compare it"


@pytest.mark.parametrize("name", sorted(transactions.TIMES | transactions.LARGEST_TIME))
def test_what_each_side_chooses_differs(scenario: str, apache: Side, peer: Side, name: str) -> None:
    if scenario == RANDOM and name in transactions.LARGEST_TIME:
        return  # Nobody asks for it.

    def told(side: Side) -> list[Any]:
        return [value for answer in side.plain.values() for value in values_of(answer, name)]

    assert told(apache) != told(peer)


def values_of(answer: Any, name: str) -> Iterator[Any]:
    if isinstance(answer, dict):
        for key, value in answer.items():
            if key == name:
                yield value
            yield from values_of(value, name)
    elif isinstance(answer, list):
        for item in answer:
            yield from values_of(item, name)


def test_zookeeper_holds_the_same(apache: Side, peer: Side) -> None:
    assert len(apache.znodes) > 20
    different = differences("transactions", apache.znodes, peer.znodes)
    assert not different, f"{len(different)} znodes differ:\n" + "\n".join(different)


def test_the_request_logs_are_equal(apache: Side, peer: Side) -> None:
    theirs, own = apache.requests, peer.requests
    assert theirs.total() > SOME
    different = [f"Apache {theirs[line]}, peer {own[line]}: {line}" for line in sorted((theirs - own) | (own - theirs))]
    assert not different, f"{len(different)} lines differ:\n" + "\n".join(different)


def logs(side: Side, topic: str) -> dict[str, dict[str, list[Picture]]]:
    """Segments by partition."""
    return {directory.name: pictures_of_log(directory) for directory in sorted(side.log_dir.glob(f"{topic}-*"))}


@pytest.mark.parametrize("topic", [TRANSACTIONS, OFFSETS, transactions.TOPIC])
def test_the_logs_are_equal_batch_by_batch(apache: Side, peer: Side, topic: str) -> None:
    theirs, own = logs(apache, topic), logs(peer, topic)
    assert sum(len(batches) for segments in theirs.values() for batches in segments.values()) > FEW
    assert theirs.keys() == own.keys()
    for partition, segments in theirs.items():
        assert segments.keys() == own[partition].keys(), partition
        for segment, batches in segments.items():
            for mine, yours in zip_longest(batches, own[partition][segment]):
                assert mine == yours, f"{partition}/{segment}"


def test_the_indexes_of_aborted_transactions_are_equal(apache: Side, peer: Side) -> None:
    def indexes(side: Side) -> dict[str, bytes]:
        return {str(file.relative_to(side.log_dir)): file.read_bytes() for file in side.log_dir.glob("*/*.txnindex")}

    assert indexes(apache)
    assert indexes(apache) == indexes(peer)


def test_every_exchange_has_a_name_of_its_own() -> None:
    names = [exchange.name for exchange in transactions.EXCHANGES]
    assert len(names) == len(set(names))
