"""Client quotas enforced and shown by our broker and by a live Apache Kafka 3.9.1, asked for the same things.

The answers, to the millisecond, are compared by the replay (replay/enforced_quotas.py). Here it is what takes time: the
sensors that both show, what a changed quota does to a client that waits, and with --full how fast real clients get.
"""

from __future__ import annotations

import math
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.quotas import CLIENT_ID, USER, ClientQuotaEntity
from kafka_zk.metrics.prometheus import clean
from kafka_zk.protocol.messages import create_topics, fetch, list_offsets, produce
from kafka_zk.security.quotas.overrides import QuotaKind
from tests.interop.test_metrics import JmxBroker
from tests.support import wire
from tests.support.allowed import allowed
from tests.support.apache import run_tool
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S
from tests.support.metrics import Scrape, metrics_port
from tests.support.names import fresh
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

T = TypeVar("T")
TOPIC = "flights"
ME = "ANONYMOUS"
LOOKS, LOOKS_LATER = "probe", "later probe"
"""Their quotas are set last: once these hold, all do. A probe that had a quota before tells nothing."""
STRANGE = 'a b"c,d*=?:/ä'
NEXT_TO_NOTHING = 1e-5
"""Percent of a thread: one request is more than that."""
ADMIN = "admin"
"""How often it asks is its own matter."""

Names = tuple[tuple[str, str | None], ...]
Quotas = Mapping[Names, Mapping[str, float | None]]


class Sensor(NamedTuple):
    """One attribute of one MBean."""

    kind: str
    attribute: str
    tags: tuple[tuple[str, str], ...]


class Brokers(NamedTuple):
    """One of each kind, strangers to each other."""

    apache: JmxBroker
    ours: OurBroker

    @property
    def bootstraps(self) -> tuple[str, str]:
        return self.apache.bootstrap, self.ours.bootstrap

    def both(self, do: Callable[[str], T]) -> list[T]:
        """`do(bootstrap)` at the same time; Apache's answer and ours."""
        with ThreadPoolExecutor(2) as threads:
            return list(threads.map(do, self.bootstraps))

    def set(self, quotas: Quotas) -> None:
        """Blocks until they hold. The last one must have a probe wait, which no quota had wait before."""
        probe = dict(list(quotas)[-1])[CLIENT_ID]
        assert probe is not None
        for bootstrap in self.bootstraps:
            alter(bootstrap, quotas)
            wait_until(lambda where=bootstrap: looked(where, probe), "the quotas hold")

    def sensors(self) -> tuple[dict[Sensor, float], dict[Sensor, float], dict[Sensor, float]]:
        """Apache's; ours before and after that look."""
        before = our_sensors(self.ours)
        theirs = {
            Sensor(mbean.properties["type"], clean(name), tags(mbean.properties)): float(value)
            for mbean in self.apache.mbeans()
            if mbean.domain == "kafka.server" and mbean.properties.get("type") in KINDS
            for name, value in mbean.attributes.items()
        }
        return without_admin(theirs), before, our_sensors(self.ours)


KINDS = tuple(kind.value for kind in QuotaKind)


def tags(properties: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((clean(key), value) for key, value in properties.items() if key != "type"))


def our_sensors(broker: OurBroker) -> dict[Sensor, float]:
    page = Scrape(metrics_port(broker))
    prefixes = {f"kafka_server_{kind.lower()}_": kind for kind in KINDS}
    found = {
        Sensor(kind, name.removeprefix(prefix), tags(labels)): value
        for name, labels in page.series()
        for prefix, kind in prefixes.items()
        if name.startswith(prefix)
        for value in page.exactly(name, labels)
    }
    return without_admin(found)


def without_admin(sensors: Mapping[Sensor, float]) -> dict[Sensor, float]:
    return {each: value for each, value in sensors.items() if ("client_id", ADMIN) not in each.tags}


class Houses:
    """Brokers for tests one after another. A second try gets others: quotas and sensors of the first one stay."""

    def __init__(self, zookeeper: ZooKeeperServer, new_folder: Callable[[], Path]) -> None:
        self._zookeeper = zookeeper
        self._new_folder = new_folder
        self._running: Brokers | None = None
        self._tried: set[str] = set()

    def for_try_of(self, test: str) -> Brokers:
        if test in self._tried:
            self.close()
        self._tried.add(test)
        if self._running is None:
            self._running = self._start()
        return self._running

    def _start(self) -> Brokers:
        folder = self._new_folder()
        one_loop, metrics = {"num.network.threads": "1"}, {"kafka_zk.metrics.port": "0"}
        apache = JmxBroker(folder / "apache", fresh_chroot(self._zookeeper, "quotas"), broker_id=0, overrides=one_loop)
        ours = OurBroker(folder / "ours", fresh_chroot(self._zookeeper, "quotas"), overrides=metrics)
        try:
            apache.launch()
            ours.start()
            apache.wait_ready()
            started = Brokers(apache, ours)
            for bootstrap in started.bootstraps:
                with RawClient(bootstrap, ADMIN) as client:
                    wire.create_topic(client, TOPIC)
        except BaseException:
            ours.kill()
            apache.kill()
            raise
        return started

    def close(self) -> None:
        if self._running is not None:
            self._running.ours.stop()
            self._running.apache.stop()
        self._running = None


@pytest.fixture(scope="module")
def houses(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Houses]:
    made = Houses(zookeeper, lambda: tmp_path_factory.mktemp("client-quotas"))
    yield made
    made.close()


@pytest.fixture
def brokers(houses: Houses, request: pytest.FixtureRequest) -> Brokers:
    return houses.for_try_of(request.node.name)


def alter(bootstrap: str, quotas: Quotas) -> None:
    """In this order."""
    with AdminClient({"bootstrap.servers": bootstrap, "client.id": ADMIN}) as admin:
        admin.alter_client_quotas({ClientQuotaEntity.of(dict(names)): wanted for names, wanted in quotas.items()})


def produced(bootstrap: str, client_id: str, size_bytes: int) -> int:
    """The wait that one batch is told, on a connection of its own, which is muted afterwards."""
    with RawClient(bootstrap, client_id) as client:
        return produced_on(client, size_bytes)


def produced_on(client: RawClient, size_bytes: int) -> int:
    answer = client.send(produce.PRODUCE_REQUEST, wire.produce_request(TOPIC, [bytes(size_bytes)]), 9)
    return int(answer.throttle_time_ms)


def fetched(bootstrap: str, client_id: str) -> int:
    with RawClient(bootstrap, client_id) as client:
        return int(client.send(fetch.FETCH_REQUEST, wire.fetch_request(TOPIC, 0), 11).throttle_time_ms)


def looked(bootstrap: str, client_id: str) -> int:
    """The same for something small that takes time."""
    partition = list_offsets.ListOffsetsPartition(partition_index=0, timestamp=-1)
    request = list_offsets.ListOffsetsRequest(
        topics=[list_offsets.ListOffsetsTopic(name=TOPIC, partitions=[partition])]
    )
    with RawClient(bootstrap, client_id) as client:
        return int(client.send(list_offsets.LIST_OFFSETS_REQUEST, request, 5).throttle_time_ms)


def created(bootstrap: str, client_id: str, topic: str, partitions: int) -> None:
    wanted = create_topics.CreatableTopic(name=topic, num_partitions=partitions, replication_factor=1)
    request = create_topics.CreateTopicsRequest(topics=[wanted], timeout_ms=20_000)
    with RawClient(bootstrap, client_id) as client:
        client.send(create_topics.CREATE_TOPICS_REQUEST, request, 7)


BY_CLIENT: Quotas = {
    ((CLIENT_ID, "writer"),): {"producer_byte_rate": 1000},
    ((CLIENT_ID, None),): {"consumer_byte_rate": 200},
    ((CLIENT_ID, "mutator"),): {"controller_mutation_rate": 1},
    ((CLIENT_ID, LOOKS),): {"request_percentage": NEXT_TO_NOTHING},
}
BY_USER: Quotas = {
    ((USER, ME), (CLIENT_ID, "both")): {"producer_byte_rate": 1000},
    ((USER, ME), (CLIENT_ID, None)): {"consumer_byte_rate": 100},
    ((USER, ME),): {"request_percentage": 300},
    ((USER, "CN=some one"),): {"producer_byte_rate": 5},
    ((USER, ME), (CLIENT_ID, LOOKS_LATER)): {"request_percentage": NEXT_TO_NOTHING},
}
NOT_COMPARED = {name: allowed("request-time", by_chance=True) for name in ("request_time", "exempt_request_time")}
"""How fast the broker is, and what of its work counts."""


WINDOWS_S = 11
"""What was counted leaves the windows of both by then, but not at the same moment."""


def check_sensors(brokers: Brokers) -> set[tuple[tuple[str, str], ...]]:
    """Who has sensors, on both."""
    until_s = time.monotonic() + 2 * WINDOWS_S
    while True:
        theirs, before, after = brokers.sensors()
        assert theirs.keys() == after.keys()
        different = {
            each: (value, before[each], after[each])
            for each, value in theirs.items()
            if each.attribute not in NOT_COMPARED and not is_between(each, value, before[each], after[each])
        }
        if not different or time.monotonic() > until_s:
            break
    assert different == {}, "Apache's, ours a moment before and a moment after"
    assert all(after[each] > 0 for each, value in theirs.items() if each.attribute == "request_time" and value > 0)
    return {each.tags for each in theirs if each.tags}


def is_between(each: Sensor, value: float, before: float, after: float) -> bool:
    """A rate is what was counted over ten seconds and what has passed of the next: it comes down to 10/11 and leaps up.

    Of others 5 % for what the two brokers did not do at the same moment.
    """
    if math.isnan(value) or math.isnan(after):
        return math.isnan(value) and math.isnan(after)
    low, high = sorted((before, after))
    if each.attribute.endswith("_rate"):
        return low * 10 / 11 <= value <= high * 11 / 10
    slack = 0.05 * max(abs(low), abs(high))
    return low - slack <= value <= high + slack


BUSY_MS = 1000
"""A wait gets shorter by what passes between the making of a sensor and its first record: more than nothing where other
work comes between. To the millisecond the waits are compared on a simulated clock (unit/security)."""


def test_without_a_quota_there_are_no_sensors(brokers: Brokers) -> None:
    assert check_sensors(brokers) == set()


def test_the_sensors_are_apaches(brokers: Brokers) -> None:
    brokers.set(BY_CLIENT)

    def live_by_client(bootstrap: str) -> list[int]:
        waits = [produced(bootstrap, "writer", 50_000), produced(bootstrap, "free", 3000), produced(bootstrap, "", 10)]
        waits.append(produced(bootstrap, STRANGE, 10))
        waits += [fetched(bootstrap, "reader"), fetched(bootstrap, "writer"), looked(bootstrap, LOOKS_LATER)]
        created(bootstrap, "mutator", "mutated", 14)
        return waits

    theirs, ours = brokers.both(live_by_client)
    assert ours == pytest.approx(theirs, abs=BUSY_MS)
    names = ("writer", "free", STRANGE, "reader", "mutator", LOOKS, LOOKS_LATER)
    clients = {(("client_id", name),) for name in names}
    assert check_sensors(brokers) == clients
    brokers.set(BY_USER)

    def live_by_user(bootstrap: str) -> list[int]:
        waits = [produced(bootstrap, "both", 30_000), produced(bootstrap, "third", 30_000)]
        return [*waits, fetched(bootstrap, "any"), fetched(bootstrap, "both")]

    theirs, ours = brokers.both(live_by_user)
    assert ours == pytest.approx(theirs, abs=BUSY_MS)
    of_me = {(("user", ME),), *((("client_id", name), ("user", ME)) for name in ("both", "any", LOOKS_LATER))}
    assert check_sensors(brokers) == clients | {(("client_id", "third"),)} | of_me


def test_a_change_holds_at_once_and_shortens_no_wait(brokers: Brokers) -> None:
    """Who waits already waits to the end; everybody else is counted by what holds now."""
    changing, marked = fresh("changing"), fresh("marker")

    def change_and_remove(bootstrap: str) -> tuple[int, bool]:
        mine = ((USER, ME), (CLIENT_ID, changing))
        marker = ((USER, ME), (CLIENT_ID, marked))
        with RawClient(bootstrap, changing) as muted:
            alter(bootstrap, {mine: {"producer_byte_rate": 10_000}, marker: {"producer_byte_rate": 1}})
            wait_until(lambda: produced(bootstrap, marked, 10), "both hold")
            began_s = time.monotonic()
            told_ms = produced_on(muted, 115_000)
            alter(bootstrap, {mine: {"producer_byte_rate": 1_000_000}})
            wait_until(lambda: produced(bootstrap, changing, 10) == 0, "the quota is larger")
            assert produced_on(muted, 10) == 0
            waited_to_the_end = time.monotonic() - began_s >= told_ms / 1000
        alter(bootstrap, {mine: {"producer_byte_rate": 1000}})
        wait_until(lambda: produced(bootstrap, changing, 10) > 0, "the quota is smaller")
        alter(bootstrap, {mine: {"producer_byte_rate": None}})
        wait_until(lambda: produced(bootstrap, changing, 10) == 0, "there is none")
        return told_ms, waited_to_the_end

    theirs, ours = brokers.both(change_and_remove)
    assert ours[0] == pytest.approx(theirs[0], abs=BUSY_MS)
    assert (theirs[1], ours[1]) == (True, True)


RATE = 1_000_000
RECORDS, RECORD_BYTES = 20_000, 1000
"""Ten seconds' worth passes at once, the rest takes its time: ten seconds."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["librdkafka writes", "Java writes", "librdkafka reads", "Java reads"])
def test_clients_get_as_fast_as_with_apache(brokers: Brokers, name: str) -> None:
    """Within 10 %."""
    me = ((USER, ME), (CLIENT_ID, f"client of {name}"))
    probe = ((USER, ME), (CLIENT_ID, f"probe of {name}"))
    mine = {me: {"producer_byte_rate": RATE, "consumer_byte_rate": RATE}}
    brokers.set({**BY_USER, **mine, probe: {"request_percentage": NEXT_TO_NOTHING}})
    if name.endswith("reads"):
        brokers.both(lambda bootstrap: write(bootstrap, "free"))
    run = {"librdkafka writes": write, "Java writes": java_writes, "librdkafka reads": read, "Java reads": java_reads}
    theirs_s, ours_s = brokers.both(lambda bootstrap: run[name](bootstrap, f"client of {name}"))
    print(f"{name}: Apache {theirs_s:.2f} s, ours {ours_s:.2f} s")
    assert ours_s == pytest.approx(theirs_s, rel=0.1)
    assert ours_s > 0.8 * RECORDS * RECORD_BYTES / RATE - 10


def write(bootstrap: str, client_id: str) -> float:
    """Seconds until all is acknowledged."""
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": client_id, "batch.size": 16_384, "linger.ms": 5})
    began_s = time.monotonic()
    for _ in range(RECORDS):
        while True:
            try:
                producer.produce(TOPIC, bytes(RECORD_BYTES))
                break
            except BufferError:
                producer.poll(0.05)
    assert producer.flush(PATIENCE_S) == 0
    return time.monotonic() - began_s


def read(bootstrap: str, client_id: str) -> float:
    """Seconds from the first record to the last one of those that are there."""
    settings = {"bootstrap.servers": bootstrap, "client.id": client_id, "group.id": client_id}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    count, began_s = 0, 0.0
    while count < RECORDS:
        count += len(consumer.consume(1000, 1.0))
        began_s = began_s or (time.monotonic() if count else 0.0)
    consumer.close()
    return time.monotonic() - began_s


def java_writes(bootstrap: str, client_id: str) -> float:
    """As its performance tool says."""
    given = ["--topic", TOPIC, "--num-records", str(RECORDS), "--record-size", str(RECORD_BYTES), "--throughput", "-1"]
    properties = ["--producer-props", f"bootstrap.servers={bootstrap}", f"client.id={client_id}"]
    done = run_tool("org.apache.kafka.tools.ProducerPerformance", *given, *properties)
    found = re.findall(r"([0-9.]+) records/sec", done.stdout)
    return RECORDS / float(found[-1])


def java_reads(bootstrap: str, client_id: str) -> float:
    """As its performance tool says, of fetching."""
    given = ["--bootstrap-server", bootstrap, "--topic", TOPIC, "--messages", str(RECORDS), "--timeout", "60000"]
    with tempfile.NamedTemporaryFile("w", suffix=".properties") as config:
        config.write(f"client.id={client_id}\n")
        config.flush()
        done = run_tool("org.apache.kafka.tools.ConsumerPerformance", *given, "--consumer.config", config.name)
    return float(done.stdout.splitlines()[-1].split(", ")[7]) / 1000
