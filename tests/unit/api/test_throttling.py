"""Which request is charged for what."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_zk.api.all import load
from kafka_zk.api.charge import Charge
from kafka_zk.api.throttling import MAX_FETCH_BYTES, Throttling, mutation_quota
from kafka_zk.clock import SimClock
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.protocol.errors import ErrorCode, ThrottlingQuotaExceeded
from kafka_zk.security.quotas.manager import QuotaManagers

MS = 1_000_000


class Broker:
    """Throttling with quotas of the default client."""

    def __init__(self, **quotas: str) -> None:
        self.clock = SimClock()
        self.metrics = MetricsRegistry(self.clock)
        managers = QuotaManagers(self.clock, self.metrics)
        managers.update((("clients", None),), quotas)
        self.throttling = Throttling(managers)

    def ctx(self, api_version: int = 7) -> Any:
        return SimpleNamespace(
            api_version=api_version,
            client_id="c",
            principal="User:ANONYMOUS",
            services=SimpleNamespace(quotas=self.throttling),
        )

    def answered(self, charge: Charge, *, size_bytes: int = 100, local_ms: int = 0, throttle_ms: int = 0) -> int:
        response = SimpleNamespace(error_code=ErrorCode.NONE, throttle_time_ms=throttle_ms)
        request = SimpleNamespace(acks=-1)
        return self.throttling.throttle_ms(charge, self.ctx(), request, response, size_bytes, local_ms * MS)

    def shown(self, kind: str, attribute: str, **tags: str) -> Any:
        metric = self.metrics.find(f"kafka.server:type={kind}", **tags)
        return None if metric is None else metric.attributes()[attribute]


def test_a_produce_waits_for_its_bytes_or_its_time_whichever_is_longer() -> None:
    # 200 bytes a second over ten seconds is 100 % too much; 20 ms in ten seconds are 0.2 %.
    broker = Broker(producer_byte_rate="100", request_percentage="0.1")
    assert broker.answered(Charge.PRODUCED, size_bytes=2000, local_ms=20) == 10_000
    broker = Broker(producer_byte_rate="100000", request_percentage="0.1")
    assert broker.answered(Charge.PRODUCED, size_bytes=2000, local_ms=20) == 1000


def test_without_acknowledgement_only_bytes_count() -> None:
    broker = Broker(producer_byte_rate="100", request_percentage="0.001")
    ctx, request = broker.ctx(), SimpleNamespace(acks=0)
    assert broker.throttling.throttle_ms(Charge.PRODUCED, ctx, request, None, 500, 50 * MS) == 0
    assert broker.throttling.throttle_ms(Charge.PRODUCED, ctx, request, None, 1500, 50 * MS) == 10_000


def test_everything_else_waits_for_its_time() -> None:
    broker = Broker(producer_byte_rate="1", request_percentage="0.1")
    assert broker.answered(Charge.TIME, size_bytes=100_000, local_ms=10) == 0
    assert broker.answered(Charge.TIME, local_ms=10) == 1000


def test_brokers_do_not_wait_but_are_counted() -> None:
    broker = Broker(request_percentage="0.1")
    assert broker.answered(Charge.EXEMPT, local_ms=500) == 0
    assert broker.shown("Request", "exempt-request-time") == pytest.approx(5.0)


def test_somebody_who_only_poses_as_a_broker_waits() -> None:
    broker = Broker(request_percentage="0.1")
    refused = SimpleNamespace(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    ctx = broker.ctx()
    assert broker.throttling.throttle_ms(Charge.EXEMPT, ctx, None, refused, 100, 500 * MS) == 1000


def test_a_fetch_is_charged_before_it_is_answered_and_not_again() -> None:
    broker = Broker(consumer_byte_rate="100", request_percentage="50")
    ctx = broker.ctx()
    assert broker.throttling.most_fetch_bytes(ctx) == 1000
    assert broker.throttling.fetch_throttle_ms(ctx, 2000, 1 * MS) == 10_000
    # The records did not leave.
    assert broker.throttling.fetch_throttle_ms(ctx, 1000, 1 * MS) == 0
    assert broker.answered(Charge.FETCHED, size_bytes=50_000, local_ms=9000, throttle_ms=10_000) == 10_000
    assert Broker(request_percentage="50").throttling.most_fetch_bytes(ctx) == MAX_FETCH_BYTES


def test_a_change_of_topics_waits_for_tokens_or_time() -> None:
    broker = Broker(controller_mutation_rate="1", request_percentage="0.1")
    assert broker.answered(Charge.MUTATIONS, throttle_ms=700) == 700
    assert broker.answered(Charge.MUTATIONS, local_ms=500, throttle_ms=700) == 1000


def test_clients_that_know_the_refusal_are_refused_and_others_only_wait() -> None:
    broker = Broker(controller_mutation_rate="1")
    new = mutation_quota(broker.ctx(6), strict_from=6)
    new.record(20)
    with pytest.raises(ThrottlingQuotaExceeded):
        new.record(1)
    assert new.throttle_ms() == 9000
    old = mutation_quota(broker.ctx(5), strict_from=6)
    old.record(1)
    broker.clock.advance(500)
    assert old.throttle_ms() == 9500


@pytest.mark.parametrize(
    ("charge", "names"),
    [
        (Charge.PRODUCED, {"Produce"}),
        (Charge.FETCHED, {"Fetch"}),
        (Charge.MUTATIONS, {"CreateTopics", "DeleteTopics", "CreatePartitions"}),
        (
            Charge.EXEMPT,
            {
                "LeaderAndIsr",
                "StopReplica",
                "UpdateMetadata",
                "ControlledShutdown",
                "AlterPartition",
                "WriteTxnMarkers",
            },
        ),
    ],
)
def test_each_api_is_charged_as_by_kafka(charge: Charge, names: set[str]) -> None:
    assert {served.name for served in load() if served.charge is charge} == names


def test_without_quotas_nothing_is_asked() -> None:
    ctx: Any = SimpleNamespace(services=SimpleNamespace(quotas=None))
    quota = mutation_quota(ctx, strict_from=0)
    quota.record(1_000_000)
    assert quota.throttle_ms() == 0
