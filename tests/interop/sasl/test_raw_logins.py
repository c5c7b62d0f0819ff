"""The same frames to our broker and to Apache's: the same answers, the same end, as soon or as late."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.integration.security.sasl_broker import PREFIX, sasl_overrides
from tests.interop.sasl.exchange import DELAY_MS, MOST_TIMES_ASKED, Frame, comparable, exchange, metadata
from tests.interop.sasl.scenarios import AGAIN, GOOD, LARGE, SHORT_MECHANISM, SHORT_MS, login, otherwise, scenarios
from tests.interop.sasl.users import put_scram_users
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

FAILED = re.compile(
    r"Failed (?:re-)?authentication with /127\.0\.0\.1 \(channelId=[^)]*:(\d+)-\d+\) \((.*?)\)(?: \(org\.apache|$)",
    re.M,
)


class Pair(NamedTuple):
    ours: str
    apaches: str
    our_folder: Path
    apaches_folder: Path
    superseded: set[int]
    """Ports of connections in whose place another one was compared."""


@pytest.fixture(scope="module")
def pair(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """One broker of each kind, each with a ZooKeeper of its own, with the same users and properties."""
    brokers: list[OurBroker | ApacheBroker] = []
    addresses = []
    for kind in (OurBroker, ApacheBroker):
        chroot = fresh_chroot(zookeeper, kind.__name__)
        put_scram_users(chroot)
        users = 'user_alice="alice-secret" user_bob="bob-secret" username="broker" password="broker-secret"'
        overrides = sasl_overrides(
            {
                f"{PREFIX}plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule "
                f"required {users};",
                f"{PREFIX}{SHORT_MECHANISM.lower()}.connections.max.reauth.ms": str(SHORT_MS),
                "connection.failed.authentication.delay.ms": str(DELAY_MS),
            }
        )
        addresses.append(overrides["listeners"].partition(",")[0].rpartition("://")[2])
        folder = tmp_path_factory.mktemp(kind.__name__)
        broker = kind(folder, chroot, overrides=overrides)
        broker.launch()
        brokers.append(broker)
    for broker in brokers:
        broker.wait_ready()
    for address in addresses:
        # A JVM is slow at first.
        for _ in range(10):
            exchange(address, login(GOOD, metadata()))
    yield Pair(addresses[0], addresses[1], brokers[0].folder, brokers[1].folder, set())
    for broker in brokers:
        broker.stop()


def test_every_login_ends_as_at_apache(pair: Pair) -> None:
    """(security 12.14, 12.16, 12.17, 12.18, 12.20, 12.24)"""
    assert differences(pair, scenarios()) == {}


def test_frames_are_limited_as_at_apache(pair: Pair) -> None:
    """(security 12.15)"""
    assert differences(pair, LARGE) == {}


def test_logins_again_end_as_at_apache(pair: Pair) -> None:
    """(security 12.25)"""
    assert differences(pair, AGAIN) == {}


def test_the_log_tells_what_apaches_tells(pair: Pair) -> None:
    """Of all logins above. (security 12.14)"""

    def told(log: Path) -> Counter[str]:
        return Counter(text for port, text in FAILED.findall(log.read_text()) if int(port) not in pair.superseded)

    our_log, apaches_log = pair.our_folder / "logs" / "server.log", pair.apaches_folder / "broker.log"
    with suppress(AssertionError):  # What differs is told below.
        wait_until(lambda: told(our_log) == told(apaches_log), "the logs tell the same", 30)
    ours, apaches = told(our_log), told(apaches_log)
    print("only ours", ours - apaches, "only Apache's", apaches - ours)
    assert (ours - apaches, apaches - ours) == (Counter(), Counter())


def differences(
    pair: Pair, logins: dict[str, list[Frame]], most_times: int = MOST_TIMES_ASKED
) -> dict[str, tuple[object, object]]:
    """What both brokers did where that was not the same.

    A broker that waits for its turn ends a connection late that it ends at once, and takes a token after its end that
    came before it. So what differs is sent to both once more, and again: what differs by itself differs each time.
    """
    ports: dict[str, list[int]] = {name: [] for name in logins}

    def both(name: str) -> tuple[object, object]:
        found = []
        for address in (pair.ours, pair.apaches):
            seen = exchange(address, logins[name])
            ports[name].append(seen.port)
            found.append(([comparable(answer) for answer in seen.answers], seen.end, seen.was_late))
        return found[0], found[1]

    with ThreadPoolExecutor(8) as pool:
        results = dict(zip(logins, pool.map(both, logins), strict=True))
    for _ in range(most_times - 1):
        for name, (ours, apaches) in results.items():
            if ours != apaches:
                pair.superseded.update(ports[name])
                ports[name].clear()
                results[name] = both(name)
    found = {name: (ours, apaches) for name, (ours, apaches) in results.items() if ours != apaches}
    for name, (ours, apaches) in found.items():
        print(f"{name}\n  ours    {ours}\n  Apache's {apaches}")
    return found


def test_what_differs_on_purpose_still_does(pair: Pair) -> None:
    assert differences(pair, otherwise(), 1).keys() == otherwise().keys()
