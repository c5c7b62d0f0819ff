"""The worst request of a megabyte, of every API: nobody else waits long for it, and it takes little memory."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_zk.api.all import load
from kafka_zk.protocol.messages.api_versions import API_VERSIONS_REQUEST, ApiVersionsRequest
from kafka_zk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.support import wire
from tests.support.broker import OurBroker
from tests.support.pace import slowness
from tests.support.probe import Probe
from tests.support.raw_client import ConnectionClosed, RawClient
from tests.support.worst_requests import Worst, worst_requests
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

pytestmark = pytest.mark.alone

KNOWN = "t"
PARTITION_COUNT = 50
LONGEST_MS = 20.0
"""On the machine of tests/support/pace.py; on a slower one so much longer."""
MOST_BYTES = 50 << 20
FREED_LATER_BYTES = 10 << 20
CREATED_TOPICS = 1_000
METADATA_VERSION = 9
SMALL_BYTES = 1_000
TRIES = 4
"""The machine has other work, too; what holds the loop does so each time."""
ANSWER_S = 60.0

APIS = {api.name: api for api in load()}


class Cost(NamedTuple):
    """What one request cost others: the longest wait of a second client, and memory at its worst."""

    longest_ms: float
    grown_bytes: int


class Target:
    """A broker with one topic, and a second client of it. Stop it."""

    def __init__(self, broker: OurBroker) -> None:
        self.broker = broker.start()
        with RawClient(broker.bootstrap) as client:
            wire.create_topic(client, KNOWN, PARTITION_COUNT)
        self._watch()

    def _watch(self) -> None:
        self._probe = Probe(self.broker.bootstrap, self.broker.process.pid)
        self._folder = Path("/proc") / str(self.broker.process.pid)
        self._at_rest = self.memory()

    def stop(self) -> None:
        self._probe.close()
        self.broker.kill()

    def cost_of(self, key: int, version: int, body: bytes, small_body: bytes) -> Cost:
        if self.memory() > self._at_rest + FREED_LATER_BYTES:
            # What the request before had would hide what this one takes.
            self.stop()
            self.broker.start()
            self._watch()
            # What the first request of a kind needs for good is no cost of this one.
            self._serve(key, version, small_body)
            self._at_rest = self.memory()
        # The peak begins anew.
        (self._folder / "clear_refs").write_text("5")
        self._probe.longest_ms()
        self._serve(key, version, body)
        return Cost(self._probe.longest_ms(), self.memory("VmHWM") - self._at_rest)

    def memory(self, name: str = "VmRSS") -> int:
        """Bytes of the broker: now, or the most (VmHWM) since the last request began."""
        found = re.search(rf"^{name}:\s+(\d+) kB", (self._folder / "status").read_text(), re.MULTILINE)
        assert found is not None
        return int(found[1]) << 10

    def _serve(self, key: int, version: int, body: bytes) -> None:
        """Send it, and wait until the broker is through: some are not answered, some end their connection."""
        with RawClient(self.broker.bootstrap, timeout_s=ANSWER_S) as client:
            try:
                client.post(APIS_BY_KEY[key].request, body, version)
                last = client.post(API_VERSIONS_REQUEST, ApiVersionsRequest(), 3)
                while struct.unpack_from(">i", client.receive_frame())[0] != last:
                    pass
            except (ConnectionClosed, ConnectionError):
                pass


APIS_BY_KEY = {api.key: api for api in APIS.values()}


@pytest.fixture(scope="module")
def target(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    overrides = {"auto.create.topics.enable": "false"}
    broker = OurBroker(tmp_path_factory.mktemp("worst"), fresh_chroot(zookeeper, "worst"), overrides=overrides)
    started = Target(broker)
    yield started
    started.stop()


@pytest.fixture
def creating(zookeeper: ZooKeeperServer, tmp_path: Path) -> Iterator[Target]:
    """It creates the topics that are asked for."""
    started = Target(OurBroker(tmp_path / "broker", fresh_chroot(zookeeper, "creating")))
    yield started
    started.stop()


def bound_of(longest_ms: float) -> float:
    """What `longest_ms` must be below, on this machine."""
    return LONGEST_MS if longest_ms < LONGEST_MS else LONGEST_MS * slowness()


def is_outer(worst: Worst) -> bool:
    """Whether the long array is one of the request itself, not of one of its elements."""
    return "." not in worst.name


@pytest.mark.parametrize("outer", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["outer", "inner"])
@pytest.mark.parametrize("name", APIS)
def test_nobody_waits_long_for_a_large_request(target: Target, name: str, outer: bool) -> None:
    api = APIS[name]
    version = api.request.max_version
    small = worst_requests(api.request, version, KNOWN, SMALL_BYTES)
    for worst, harmless in zip(worst_requests(api.request, version, KNOWN), small, strict=True):
        if is_outer(worst) is not outer:
            continue
        costs = []
        for _ in range(TRIES):
            costs.append(target.cost_of(api.key, version, worst.body, harmless.body))
            bound_ms = bound_of(costs[-1].longest_ms)
            if costs[-1].longest_ms < bound_ms:
                break
        print(f"{worst.name:70} {min(costs).longest_ms:8.1f} ms {max(cost.grown_bytes for cost in costs) >> 20:6d} MiB")
        assert costs[-1].longest_ms < bound_ms, worst.name
        assert max(cost.grown_bytes for cost in costs) < MOST_BYTES, worst.name


def test_nobody_waits_long_while_one_request_creates_many_topics(creating: Target) -> None:
    """What it makes comes to stay. Python's collector must not look at all of it in one go."""
    api = APIS["Metadata"]

    def asking_for(*names: str) -> bytes:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])
        return api.request.encode(request, METADATA_VERSION)

    costs = []
    for number in range(TRIES):
        body = asking_for(*(f"created-{number}-{index}" for index in range(CREATED_TOPICS)))
        costs.append(creating.cost_of(api.key, METADATA_VERSION, body, asking_for(KNOWN)).longest_ms)
        if costs[-1] < bound_of(costs[-1]):
            break
    print(f"{CREATED_TOPICS} topics created: {min(costs):.1f} ms")
    assert costs[-1] < bound_of(costs[-1])
