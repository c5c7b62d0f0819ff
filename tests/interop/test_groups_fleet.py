"""Groups of unmodified clients of every kind on our broker: they come, go and crash, and miss nothing.

Records are written all the while. Between clean rebalances each group reads each record once; after a crash, of a
member or of the broker, at least once.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker import OurBroker
from tests.support.fleet import AIOKAFKA, JAVA, JAVA_4, KAFKA_PYTHON, LIBRDKAFKA, SPEAKS, Fleet
from tests.support.names import fresh
from tests.support.processes import wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

PARTITIONS = 12
SHORT_MS = 3_000
"""The session of members that are to crash: so long the group waits for them."""
ROUNDS = 25
"""Of chance, each longer than a second."""


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    folder = tmp_path_factory.mktemp("fleet")
    settings = {"group.min.session.timeout.ms": "1000"}
    running = OurBroker(folder, fresh_chroot(zookeeper, "fleet"), overrides=settings).start()
    yield running
    running.stop()
    assert " ERROR " not in running.process.output() and "Traceback" not in running.process.output()


@pytest.fixture
def fleet(broker: OurBroker, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Fleet]:
    topic = fresh(request.node.name.replace("[", "-").rstrip("]")[-100:])
    with Fleet(tmp_path, broker.bootstrap, topic, PARTITIONS) as made:
        yield made


def finish(fleet: Fleet, *groups: str) -> None:
    """All is read; all leave; what is committed is what was written."""
    ends = fleet.writer.stop()
    fleet.wait_until_all_read(*groups)
    fleet.dismiss(*fleet.crews)
    for group in groups:
        assert fleet.committed(group) == ends, group


@pytest.mark.parametrize("assignor", ["range", pytest.param("roundrobin", marks=pytest.mark.slow)])
def test_clients_of_five_kinds_share_one_group_and_a_killed_broker_loses_nothing_of_it(
    broker: OurBroker, fleet: Fleet, assignor: str
) -> None:
    group = fresh(f"five-kinds-{assignor}")
    spec = f"{group}:{assignor}:2:"
    crews = {kind: fleet.enlist(kind, spec) for kind in (LIBRDKAFKA, KAFKA_PYTHON, AIOKAFKA, JAVA, JAVA_4)}
    fleet.wait_until_shared(group)
    for goes in (JAVA, KAFKA_PYTHON, LIBRDKAFKA):  # The first to come is the leader: the lead goes from kind to kind.
        fleet.dismiss(crews[goes])
        fleet.wait_until_shared(group)
    fleet.enlist(LIBRDKAFKA, spec)
    fleet.wait_until_shared(group)
    fleet.writer.wait_for_more()
    fleet.wait_until_all_read(group)
    fleet.assert_each_read_once(group)

    crashes = fleet.enlist(LIBRDKAFKA, spec, session_timeout_ms=SHORT_MS)
    fleet.wait_until_shared(group)
    fleet.crash(crashes)
    broker.kill()
    before = len(fleet.reads(group))
    broker.start()
    fleet.writer.wait_for_more()
    fleet.wait_until_shared(group)
    finish(fleet, group)
    twice = [place for place, count in fleet.reads(group).items() if count > 1]
    assert len(twice) < before / 2, "they went on from what was committed"


def test_java_members_of_two_versions_come_and_go_with_every_assignor(fleet: Fleet) -> None:
    groups = {fresh(f"java-{assignor}"): assignor for assignor in SPEAKS}
    old = fleet.enlist(JAVA, *(f"{group}:{assignor}:2:" for group, assignor in groups.items()))
    fleet.wait_until_shared(*groups)
    fleet.enlist(JAVA_4, *(f"{group}:{assignor}:1:" for group, assignor in groups.items()))
    fleet.wait_until_shared(*groups)
    fleet.dismiss(old)  # The newer ones lead now.
    fleet.wait_until_shared(*groups)
    finish(fleet, *groups)
    fleet.assert_each_read_once(*groups)


@pytest.mark.parametrize("kind", [LIBRDKAFKA, KAFKA_PYTHON])
def test_a_static_member_that_crashes_and_returns_gets_its_own_back_and_nobody_notices(fleet: Fleet, kind: str) -> None:
    group = fresh(f"static-{kind}")
    stays = fleet.enlist(kind, f"{group}:range:2:stays")
    crashes = fleet.enlist(kind, f"{group}:range:2:crashes")
    fleet.wait_until_shared(group)
    had = list(crashes.owned.values())
    said = stays.process.output().count(" owns ")
    fleet.crash(crashes)
    returns = fleet.enlist(kind, f"{group}:range:2:crashes")
    fleet.wait_until_shared(group)
    assert sorted(map(sorted, returns.owned.values())) == sorted(map(sorted, had))
    assert stays.process.output().count(" owns ") == said
    finish(fleet, group)


@pytest.mark.slow
@pytest.mark.parametrize("assignor", SPEAKS)
def test_twenty_members_come_go_and_crash_while_the_broker_is_killed(
    broker: OurBroker, fleet: Fleet, assignor: str, chance: random.Random
) -> None:
    group = fresh(f"twenty-{assignor}")
    spec = f"{group}:{assignor}"
    kinds = SPEAKS[assignor]
    for number in range(6):
        fleet.enlist(kinds[number % len(kinds)], f"{spec}:3:", session_timeout_ms=SHORT_MS)
    fleet.wait_until_shared(group)
    for _ in range(ROUNDS):
        what = chance.choice(["comes", "comes", "goes", "crashes", "broker"])
        print(what)
        if what == "comes" and sum(crew.size for crew in fleet.crews) < 20:
            fleet.enlist(chance.choice(kinds), f"{spec}:2:", session_timeout_ms=SHORT_MS)
        elif what == "broker":
            if chance.random() < 0.5:
                broker.kill()
            else:
                broker.stop()
            broker.start()
        elif what in ("goes", "crashes") and len(fleet.crews) > 2:
            leaver = chance.choice(fleet.crews)
            if what == "goes":
                leaver.process.stop(signal.SIGTERM)
            fleet.crash(leaver)
        fleet.writer.wait_for_more(30)
    fleet.wait_until_shared(group)
    wait_until(lambda: len(fleet.reads(group)) > 0, "something is read")
    finish(fleet, group)
