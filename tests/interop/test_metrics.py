"""The metrics of our broker beside those of a live Apache Kafka 3.9.1 that has lived the same life.

Both are compared as series: Apache's MBeans under the names that the JMX exporter's usual rules give them. What Apache
has and we do not is listed here under the row of docs/compat.md that allows it; a pattern without a missing series
makes the test fail too. What only we have is the lag of groups, also of those that Apache coordinates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import KafkaError

from kafka_zk.metrics.names import MBeanName
from kafka_zk.metrics.prometheus import clean, series_name
from tests.interop.test_cluster_with_apache import APACHE, OURS, Cluster
from tests.support.allowed import allowed
from tests.support.apache import ApacheBroker, run_tool
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S, Written
from tests.support.metrics import Scrape, metrics_port
from tests.support.processes import free_port, wait_until

GROUPS = 6
PROGRAM = Path(__file__).parent / "java" / "MBeans.java"

MISSING = {
    allowed("no-security"): (r"kafka_server_delayedoperationpurgatory_.* delayedoperation=AlterAcls",),
    allowed("metrics-of-tiers"): (r"kafka_server_delayedoperationpurgatory_.* delayedoperation=RemoteFetch",),
    allowed("metrics-of-features"): (r"kafka_controller_controllerstats_updatefeaturesrateandtimems",),
    allowed("metrics-of-threads"): (
        r"kafka_server_socket_server_metrics_(io|select|network_io).*",
        r"kafka_network_acceptor_acceptorblocked_percent",
        r"kafka_network_socketserver_controlplane.*",
    ),
    allowed("metrics-twice"): (
        r"kafka_server_socket_server_metrics_request_size_.*",
        r"kafka_server_kafka_metrics_count_count",
    ),
    allowed("metrics-of-channels"): (
        *(
            rf"kafka_server_{channel}_metrics_.*"
            for channel in (
                "addpartitionsmanager_channel",
                "alter_partition",
                "controller_channel",
                "forwarding",
                "replica_fetcher",
                "txn_marker_channel",
            )
        ),
    ),
    allowed("metrics-of-log4j"): (r"kafka_kafka_log4jcontroller_loggers",),
}
"""Rows of docs/compat.md, and the series as regular expressions over their names and labels: each must occur."""

OURS_ALONE = "kafka_coordinator_group_grouplag_"
ALSO_OURS = ("kafka_server_supervision_unexpectederrors", "kafka_network_requestchannel_responsequeuebytes")

# What depends on who did what when, and not on what can be counted.
_ANY = {
    "broker_id", "brokerhost", "brokerid", "brokerport", "clientsoftwarename", "clientsoftwareversion", "error", "id",
    "logdirectory", "partition", "version",
}  # fmt: skip
_BY_REQUEST = ("kafka_network_requestmetrics_requests", "kafka_network_requestmetrics_errors")
_NOT_COMPARED = {"quantile", "value"}


class Series(NamedTuple):
    """One name with its labels; the value of what depends on circumstances is *."""

    name: str
    labels: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{key}={value}" for key, value in self.labels)])


def series(name: str, labels: Iterable[tuple[str, str]]) -> Series:
    def value_of(key: str, value: str) -> str:
        if key in _ANY or (key == "request" and name.startswith(_BY_REQUEST)):
            return "*"
        return re.sub(r"^(ReplicaFetcherThread-\d+)-\d+$", r"\1-*", value)

    kept = sorted((clean(key), value) for key, value in labels)
    return Series(name, tuple((key, value_of(key, value)) for key, value in kept if key not in _NOT_COMPARED))


class MBean(NamedTuple):
    """One line of MBeans.java."""

    domain: str
    properties: dict[str, str]
    attributes: dict[str, str]

    def series(self) -> Iterator[Series]:
        """One, or for the second generation one an attribute."""
        tags = {key: value for key, value in self.properties.items() if key not in ("type", "name")}
        name = series_name(MBeanName(self.domain, self.properties["type"], self.properties.get("name"), ()))
        if "name" in self.properties:
            yield series(name, tags.items())
        else:
            for attribute in self.attributes:
                yield series(f"{name}_{clean(attribute)}", tags.items())


class JmxBroker(ApacheBroker):
    """Apache's broker with its JMX agent on the loopback."""

    def __init__(self, folder: Path, zookeeper: str, *, broker_id: int, overrides: dict[str, str]) -> None:
        self.jmx_port = free_port()
        agent = "-Dcom.sun.management.jmxremote"
        options = (
            f"{agent}.port={self.jmx_port}",
            f"{agent}.rmi.port={self.jmx_port}",
            f"{agent}.host=127.0.0.1",
            f"{agent}.authenticate=false",
            f"{agent}.ssl=false",
            "-Djava.rmi.server.hostname=127.0.0.1",
        )
        super().__init__(folder, zookeeper, broker_id=broker_id, overrides=overrides, jvm_options=options)

    def mbeans(self) -> list[MBean]:
        done = run_tool(str(PROGRAM), str(self.jmx_port))
        assert done.exit_code == 0, done
        found = []
        for line in done.stdout.splitlines():
            domain, *parts = line.split("\t")
            properties = dict(part.split("=", 1) for part in parts if "=" in part)
            attributes = dict(part.split(":", 1) for part in parts if "=" not in part)
            found.append(MBean(domain, properties, attributes))
        assert len(found) > 500
        return found


@pytest.fixture
def cluster(tmp_path: Path, zookeeper_connect: str) -> Iterator[Cluster]:
    """Apache controls; it has one network thread, as our one loop."""
    both = {"group.initial.rebalance.delay.ms": "0"}
    made = Cluster(
        tmp_path,
        zookeeper_connect,
        controller=APACHE,
        apache=lambda *where, overrides, **who: JmxBroker(
            *where, overrides={**overrides, **both, "num.network.threads": "1"}, **who
        ),
        ours=lambda *where, overrides, **who: OurBroker(
            *where, overrides={**overrides, **both, "kafka_zk.metrics.port": "0"}, **who
        ),
    )
    yield made
    made.close()


def live_a_little(cluster: Cluster) -> None:
    """Each broker leads, follows, coordinates, refuses, forgets."""
    cluster.create("both", [[APACHE, OURS], [OURS, APACHE]])
    cluster.create("gone", [[APACHE, OURS], [OURS, APACHE]])
    cluster.create("compacted", [[APACHE], [OURS]], cleanup_policy="compact")
    for partition, leader in enumerate((APACHE, OURS)):
        clients = cluster.clients[leader]
        for topic in ("both", "gone"):
            clients.write(topic, [Written(b"v")] * 10, partition=partition)
        assert len(cluster.read(leader, "both", 10, partition)) == 10
        (refused,) = clients.try_to_write("compacted", [Written(b"v")], partition=partition)
        assert refused.error().code() == KafkaError.INVALID_RECORD
    for group in range(GROUPS):
        clients = cluster.clients[OURS]
        consumer = clients.consumer(group_id=f"group-{group}")
        consumer.subscribe(["both", "gone"])
        assert len(consumer.consume(40, PATIENCE_S)) == 40
        consumer.commit(asynchronous=False)
        clients.leave(consumer)
    deleted = cluster.clients[OURS].admin.delete_topics(["gone"], operation_timeout=PATIENCE_S)
    deleted["gone"].result(PATIENCE_S)


def coordinator_totals(apache: list[MBean], ours: Scrape) -> dict[str, tuple[float, float]]:
    """Each total of group-coordinator-metrics, Apache's and ours."""
    (mbean,) = [each for each in apache if each.properties == {"type": "group-coordinator-metrics"}]
    prefix = "kafka_server_group_coordinator_metrics_"
    return {
        name.removesuffix("-count"): (float(value), ours.value(prefix + clean(name)))
        for name, value in mbean.attributes.items()
        if name.endswith("-count")
    }


def answered(port: int) -> Scrape:
    """A page for which every coordinator has answered in time: a JVM that waits for its turn may be late."""
    pages: list[Scrape] = []

    def is_whole() -> bool:
        pages.append(Scrape(port))
        return pages[-1].value(f"{OURS_ALONE}unansweredcoordinators") == 0

    wait_until(is_whole, "all coordinators answer")
    return pages[-1]


def check_lags(cluster: Cluster, port: int) -> None:
    """Every group has read everything; then there is more. Half of the groups are Apache's: it is asked for them."""
    for written in (0, 7):
        if written:
            cluster.clients[OURS].write("both", [Written(b"v")] * written, partition=1)
        page = answered(port)
        for group in range(GROUPS):
            for name in ("offsetlag", "recordsleft"):
                where = {"group": f"group-{group}", "topic": "both"}
                assert page.value(OURS_ALONE + name, partition="1", **where) == written
                assert page.values(OURS_ALONE + name, partition="0", **where) == [], "Apache's broker leads it"


def test_what_apache_shows_is_shown_or_named_here_with_a_reason(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    apache, ours = cluster.brokers[APACHE], cluster.brokers[OURS]
    assert isinstance(apache, JmxBroker)
    assert isinstance(ours, OurBroker)
    live_a_little(cluster)
    port = metrics_port(ours)
    wait_until(lambda: not Scrape(port).values("kafka_log_log_size", topic="gone"), "the deleted topic has no gauges")
    mbeans = apache.mbeans()
    while any((each.properties.get("type"), each.properties.get("topic")) == ("Log", "gone") for each in mbeans):
        mbeans = apache.mbeans()  # It deletes the topic's logs a little later, too.
    theirs = {each for mbean in mbeans for each in mbean.series()}
    page = Scrape(port)
    shown = {series(name, labels.items()) for name, labels in page.series()}
    happened = coordinator_totals(mbeans, page)
    check_lags(cluster, port)
    apache.stop()
    wait_until(lambda: cluster.controller == OURS, "we control", 60)
    wait_until(lambda: Scrape(port).values("kafka_controller_controllerchannelmanager_queuesize"), "we send requests")
    shown |= {series(name, labels.items()) for name, labels in Scrape(port).series()}
    ours_only = {each for each in shown if not any(each._replace(name=root) in theirs for root in roots(each.name))}
    missing = {each for each in theirs if not any(each._replace(name=form) in shown for form in forms(each.name))}
    patterns = {pattern: reason.row for reason, found in MISSING.items() for pattern in map(re.compile, found)}
    with capsys.disabled():
        print(f"\n{len(theirs)} series of Apache's, {len(missing)} of them not ours")
        for pattern, row in patterns.items():
            print(f"  {sum(is_meant(pattern, each) for each in missing):4d}  {row}: {pattern.pattern}")
        print(f"  totals of the coordinators, Apache's and ours: {happened}")
    unexplained = {str(each) for each in missing if not any(is_meant(pattern, each) for pattern in patterns)}
    assert unexplained == set()
    groundless = [pattern.pattern for pattern in patterns if not any(is_meant(pattern, each) for each in missing)]
    assert groundless == [], "shown by now: take the pattern out"
    assert {str(each) for each in ours_only if not each.name.startswith((OURS_ALONE, *ALSO_OURS))} == set()
    # Each group belongs to one of the two, and did the same: it joined once and committed once.
    assert sum(happened["group-completed-rebalance"]) == sum(happened["offset-commit"]) == GROUPS
    assert happened["offset-deletion"] == happened["offset-expiration"] == (0, 0)


def is_meant(pattern: re.Pattern[str], missing: Series) -> bool:
    return pattern.fullmatch(missing.name) is not None or pattern.fullmatch(str(missing)) is not None


def forms(name: str) -> tuple[str, ...]:
    """How one MBean's series may be called, by its kind."""
    return name, f"{name}_total", f"{name}_count"


def roots(name: str) -> tuple[str, ...]:
    """What `forms` may have been made of."""
    return name, name.removesuffix("_total"), name.removesuffix("_count")
