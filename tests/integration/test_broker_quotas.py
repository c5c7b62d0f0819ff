"""A client over its quota is told how long it waits, and is not served before.

The first request of a client counts over exactly ten seconds, so its wait depends on its size alone: 0.3 s for 10.3
times the quota. Waits are only ever measured as "not before".
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.quotas import CLIENT_ID, ClientQuotaEntity, FilterComponent
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages import fetch, produce
from tests.support import wire
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer

TOPIC = "flights"
QUOTA = 10_000
TOO_MUCH_BYTES = 103_000
WAIT_MS = range(300, 400)
"""What too much costs, with the bytes around it."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, zookeeper: ZooKeeperServer) -> Iterator[OurBroker]:
    """With a quota for each test's client."""
    folder = tmp_path_factory.mktemp("quotas")
    running = OurBroker(folder, f"{zookeeper.connect}/{folder.name}").start()
    with RawClient(running.bootstrap) as client:
        wire.create_topic(client, TOPIC)
        wire.write(client, TOPIC, [bytes(TOO_MUCH_BYTES)])
    set_quotas(
        running,
        {
            "producer": {"producer_byte_rate": QUOTA},
            "silent": {"producer_byte_rate": QUOTA},
            "consumer": {"consumer_byte_rate": QUOTA},
            "lasting": {"producer_byte_rate": 1.0},
            "probe": {"producer_byte_rate": 1.0},
        },
    )
    # They come one after the other: when the last one holds, all do.
    wait_until(lambda: told(running, "probe") > 0, "the quotas hold")
    yield running
    running.kill()


def set_quotas(broker: OurBroker, quotas: Mapping[str, Mapping[str, float | None]]) -> None:
    """By client id, in this order."""
    with AdminClient({"bootstrap.servers": broker.bootstrap}) as admin:
        admin.alter_client_quotas({ClientQuotaEntity.of({CLIENT_ID: name}): wanted for name, wanted in quotas.items()})


def produced(client: RawClient, size_bytes: int = 100) -> int:
    """The wait that one batch is told."""
    answer = client.send(produce.PRODUCE_REQUEST, wire.produce_request(TOPIC, [bytes(size_bytes)]), 9)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    return int(answer.throttle_time_ms)


def told(broker: OurBroker, client_id: str) -> int:
    """The same on a connection of its own, which is muted afterwards."""
    with RawClient(broker.bootstrap, client_id) as client:
        return produced(client)


def fetched(broker: OurBroker) -> fetch.FetchResponse:
    with RawClient(broker.bootstrap, "consumer") as client:
        answer: fetch.FetchResponse = client.send(fetch.FETCH_REQUEST, wire.fetch_request(TOPIC, 0), 11)
        return answer


def test_a_producer_is_told_its_wait_and_served_after_it(broker: OurBroker) -> None:
    with RawClient(broker.bootstrap, "producer") as client:
        start_s = time.monotonic()
        told_ms = produced(client, TOO_MUCH_BYTES)
        assert told_ms in WAIT_MS
        produced(client)
        assert time.monotonic() - start_s >= told_ms / 1000


def test_who_wants_no_answer_waits_all_the_same(broker: OurBroker) -> None:
    with RawClient(broker.bootstrap, "silent") as client:
        start_s = time.monotonic()
        too_much = wire.produce_request(TOPIC, [bytes(TOO_MUCH_BYTES)], acks=0)
        client.post(produce.PRODUCE_REQUEST, too_much, 9)
        produced(client)
        assert time.monotonic() - start_s >= WAIT_MS.start / 1000


def test_a_consumer_that_waits_gets_no_records_until_it_may_have_them(broker: OurBroker) -> None:
    empty = fetched(broker)
    assert empty.throttle_time_ms in WAIT_MS
    assert (empty.responses, empty.error_code) == ([], ErrorCode.NONE)
    set_quotas(broker, {"consumer": {"consumer_byte_rate": None}})
    wait_until(lambda: fetched(broker).responses, "the records come")
    _, records = wire.fetched(fetched(broker))
    assert len(records[0].value or b"") == TOO_MUCH_BYTES


def test_quotas_hold_after_a_restart(broker: OurBroker) -> None:
    broker.stop()
    broker.start()
    with RawClient(broker.bootstrap, "anybody") as client:
        wire.wait_for_topic(client, TOPIC)
    assert told(broker, "lasting") > 0
    with AdminClient({"bootstrap.servers": broker.bootstrap}) as admin:
        found = admin.describe_client_quotas([FilterComponent(CLIENT_ID)])
    assert found[ClientQuotaEntity.of({CLIENT_ID: "lasting"})] == {"producer_byte_rate": 1.0}
