"""Which brokers a machine is to run: nothing is shared, and everything follows from the first broker's properties."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_zk.config.endpoints import parse_end_points
from kafka_zk.tools.common.local_cluster.plan import (
    BrokerPlan,
    PlanError,
    broker_id_of,
    plan_brokers,
    with_absolute_directories,
    with_first_port,
)

FOLDER = Path("/brokers")
ZOOKEEPER = {"zookeeper.connect": "zk:2181"}
PROTOCOLS = dict.fromkeys(("PLAINTEXT", "A", "B"), "PLAINTEXT")


def plan(properties: Mapping[str, str], count: int, *, is_whole_cluster: bool = False) -> list[BrokerPlan]:
    return plan_brokers(
        {**ZOOKEEPER, **properties}, count, folder=FOLDER, host="host-1", is_whole_cluster=is_whole_cluster
    )


def test_each_broker_has_the_next_id_the_next_port_and_a_folder_of_its_own() -> None:
    made = plan({"broker.id": "10", "listeners": "PLAINTEXT://localhost:9092"}, 3)
    assert [each.broker_id for each in made] == [10, 11, 12]
    assert [each.listens for each in made] == [(("localhost", 9092 + index),) for index in range(3)]
    assert [each.folder for each in made] == [FOLDER / f"broker-{each.broker_id}" for each in made]
    assert made[2].properties == {
        **ZOOKEEPER,
        "broker.id": "12",
        "broker.rack": "host-1",
        "listeners": "PLAINTEXT://localhost:9094",
        "log.dirs": "/brokers/broker-12/data",
    }


def test_without_properties_it_is_kafkas_port_from_id_0_on() -> None:
    assert [(each.broker_id, each.listens) for each in plan({}, 2)] == [(0, (("", 9092),)), (1, (("", 9093),))]


def test_every_port_moves_also_those_that_clients_are_told() -> None:
    made = plan(
        {
            "listeners": "A://:9000,B://[::1]:9100",
            "advertised.listeners": "A://a.example:19000,B://b.example:19100",
            "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT",
            "inter.broker.listener.name": "A",
            "kafka_zk.metrics.port": "9200",
        },
        3,
    )[2]
    assert made.properties["listeners"] == "A://:9002,B://[::1]:9102"
    assert made.properties["advertised.listeners"] == "A://a.example:19002,B://b.example:19102"
    assert made.listens == (("", 9002), ("::1", 9102), ("127.0.0.1", 9202))


def test_data_stay_on_the_disks_that_the_properties_name_in_a_directory_of_each_broker() -> None:
    made = plan({"log.dirs": "/disk-1/kafka, /disk-2"}, 2)[1]
    assert made.properties["log.dirs"] == "/disk-1/kafka/broker-1,/disk-2/broker-1"
    made = plan({"log.dir": "/disk"}, 1)[0]
    assert made.properties["log.dirs"] == "/disk/broker-0" and "log.dir" not in made.properties


@pytest.mark.parametrize(("given_rack", "rack"), [(None, "host-1"), ("r-7", "r-7"), ("", None)])
def test_the_rack_is_the_host_unless_the_properties_say_otherwise(given_rack: str | None, rack: str | None) -> None:
    properties = {} if given_rack is None else {"broker.rack": given_rack}
    assert {each.properties.get("broker.rack") for each in plan(properties, 3)} == {rack}


@pytest.mark.parametrize(
    ("count", "is_whole_cluster", "replicas", "min_isr"),
    [(1, True, "1", "1"), (2, True, "2", "1"), (3, True, None, None), (2, False, None, None)],
)
def test_internal_topics_get_fewer_replicas_only_where_no_other_host_can_hold_them(
    count: int, is_whole_cluster: bool, replicas: str | None, min_isr: str | None
) -> None:
    properties = plan({}, count, is_whole_cluster=is_whole_cluster)[0].properties
    assert properties.get("offsets.topic.replication.factor") == replicas
    assert properties.get("transaction.state.log.replication.factor") == replicas
    assert properties.get("transaction.state.log.min.isr") == min_isr


@pytest.mark.parametrize(
    ("properties", "count", "told"),
    [
        ({}, 0, "1 to 1000 brokers, not 0"),
        ({}, 1001, "1 to 1000 brokers, not 1001"),
        ({"broker.id": "-1"}, 1, "broker.id of the first broker must be a number from 0 on, not -1"),
        ({"node.id": "x"}, 1, "must be a number from 0 on, not x"),
        ({"broker.id": "999"}, 3, "broker 1001: "),
        ({"listeners": "PLAINTEXT://:65534"}, 3, "broker 2 would listen on port 65536"),
        ({"listeners": "PLAINTEXT://:0"}, 1, "broker 0 would listen on port 0"),
        ({"kafka_zk.metrics.port": "9093"}, 2, "broker 0 and broker 1 would both listen on port 9093"),
        ({"listeners": "nonsense"}, 1, "broker 0: "),
    ],
)
def test_a_plan_that_cannot_work_is_refused_in_one_sentence(properties: dict[str, str], count: int, told: str) -> None:
    with pytest.raises(PlanError) as refused:
        plan(properties, count)
    assert told in str(refused.value)


def test_the_port_option_moves_the_only_listener() -> None:
    assert with_first_port({}, 7000)["listeners"] == "PLAINTEXT://:7000"
    assert with_first_port({"listeners": "A://[::1]:9"}, 7000)["listeners"] == "A://[::1]:7000"
    for several in ({"listeners": "A://:1,B://:2"}, {"advertised.listeners": "A://a:1"}):
        with pytest.raises(PlanError, match="one listener"):
            with_first_port(several, 7000)


def test_directories_are_those_of_the_folder_that_named_them() -> None:
    assert with_absolute_directories({"log.dirs": "a,/b"}, Path("/here")) == {"log.dirs": "/here/a,/b"}


@given(
    first=st.integers(0, 400),
    count=st.integers(1, 40),
    ports=st.lists(st.integers(1, 65_535), min_size=1, max_size=2, unique=True),
    metrics=st.none() | st.integers(1, 65_535),
    directories=st.lists(st.sampled_from(["/a", "/b", "/a/broker-1", "/c/d"]), max_size=3, unique=True),
)
@settings(max_examples=60, deadline=None)
def test_brokers_share_nothing_or_are_refused(
    first: int, count: int, ports: list[int], metrics: int | None, directories: list[str]
) -> None:
    properties = {
        "broker.id": str(first),
        "listeners": ",".join(f"{name}://:{port}" for name, port in zip("AB", ports, strict=False)),
        "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT",
        "inter.broker.listener.name": "A",
        **({} if metrics is None else {"kafka_zk.metrics.port": str(metrics)}),
        **({"log.dirs": ",".join(directories)} if directories else {}),
    }
    wanted = [{port + index for port in (*ports, *([] if metrics is None else [metrics]))} for index in range(count)]
    can_work = max(map(max, wanted)) <= 65_535 and not any(one & other for one, other in combinations(wanted, 2))
    try:
        made = plan(properties, count)
    except PlanError:
        assert not can_work
        return
    assert can_work
    assert [each.broker_id for each in made] == list(range(first, first + count))
    assert [{port for _, port in each.listens} for each in made] == wanted
    places = [each.properties["log.dirs"].split(",") for each in made]
    assert len({place for of_one in places for place in of_one}) == sum(map(len, places))
    assert len({each.folder for each in made}) == count
    for each in made:
        assert broker_id_of(each.folder) == each.broker_id == int(each.properties["broker.id"])
        parsed = parse_end_points(each.properties["listeners"], PROTOCOLS, distinct_ports=True)
        assert {listener.port for listener in parsed} <= {port for _, port in each.listens}
