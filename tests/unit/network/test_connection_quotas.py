"""ConnectionQuotas and ConnectionRate: who may connect."""

from __future__ import annotations

import pytest

from kafka_zk.network.quotas import (
    FORGET_AFTER_MS,
    ConnectionQuotas,
    ConnectionRate,
    ConnectionRates,
    IpConnectionRates,
    TooManyConnections,
)


def test_an_address_may_have_its_share_and_no_more() -> None:
    quotas = ConnectionQuotas(max_connections_per_ip=2)
    quotas.opened("L", "10.0.0.1")
    quotas.opened("L", "10.0.0.1")
    quotas.opened("L", "10.0.0.2")
    with pytest.raises(TooManyConnections) as refused:
        quotas.opened("L", "10.0.0.1")
    assert str(refused.value) == (
        "Rejected connection from /10.0.0.1, address already has the configured maximum of 2 connections."
    )
    assert quotas.total_count == 3, "a refused connection is not counted"
    quotas.closed("L", "10.0.0.1")
    quotas.opened("L", "10.0.0.1")


def test_an_override_replaces_the_share_of_its_address() -> None:
    quotas = ConnectionQuotas(max_connections_per_ip=0, max_connections_per_ip_overrides={"10.0.0.9": 1})
    quotas.opened("L", "10.0.0.9")
    with pytest.raises(TooManyConnections):
        quotas.opened("L", "10.0.0.9")
    with pytest.raises(TooManyConnections):
        quotas.opened("L", "10.0.0.1")


def test_a_full_broker_accepts_only_on_the_protected_listener() -> None:
    quotas = ConnectionQuotas(max_connections=1, protected_listener="INTERNAL")
    quotas.opened("CLIENTS", "10.0.0.1")
    assert not quotas.has_slot("CLIENTS")
    assert quotas.has_slot("INTERNAL")
    assert not quotas.is_over()
    quotas.opened("INTERNAL", "10.0.0.2")
    assert quotas.is_over(), "another connection has to go"
    quotas.closed("CLIENTS", "10.0.0.1")
    assert not quotas.is_over()


def test_a_listener_has_a_limit_of_its_own() -> None:
    quotas = ConnectionQuotas(max_connections_per_listener={"CLIENTS": 1})
    quotas.opened("CLIENTS", "10.0.0.1")
    assert not quotas.has_slot("CLIENTS")
    assert quotas.has_slot("OTHER")
    quotas.closed("CLIENTS", "10.0.0.1")
    assert quotas.has_slot("CLIENTS")


def test_without_a_rate_limit_nothing_is_delayed() -> None:
    rate = ConnectionRate()
    assert [rate.record(5_000) for _ in range(1000)] == [0] * 1000


def test_a_burst_above_the_average_has_to_pause() -> None:
    rate = ConnectionRate(max_per_second=2, num_windows=3)
    # Two whole samples may hold 2 connections a second each.
    assert [rate.record(10_000) for _ in range(4)] == [0, 0, 0, 0]
    pause = rate.record(10_000)
    assert 0 < pause <= 1_000


def test_a_burst_is_forgotten_when_its_samples_leave_the_window() -> None:
    rate = ConnectionRate(max_per_second=2, num_windows=3)
    for _ in range(20):
        rate.record(10_000)
    assert rate.record(12_999) > 0
    assert rate.record(13_000) == 0


def test_a_rate_of_zero_always_pauses() -> None:
    rate = ConnectionRate(max_per_second=0)
    assert rate.record(1_000) == 1_000


def test_the_average_covers_the_windows_that_the_quotas_have() -> None:
    rate = ConnectionRate(max_per_second=1, num_windows=3)
    pauses = []
    now_ms = 10_000
    for _ in range(8):
        pauses.append(rate.record(now_ms))
        now_ms += pauses[-1]
    # As a live Apache Kafka 3.9.1 with quota.window.num=3 let eight connections in.
    assert pauses == [0, 0, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000]


def test_a_listener_waits_for_the_stricter_of_its_own_rate_and_the_brokers() -> None:
    def rates(broker: int, own: int) -> ConnectionRates:
        windows = {"num_windows": 2}
        return ConnectionRates(
            ConnectionRate(max_per_second=broker, **windows), {"OUT": ConnectionRate(max_per_second=own, **windows)}
        )

    def connections_until_a_pause(rates: ConnectionRates, listener: str) -> int:
        return next(count for count in range(1, 100) if rates.record(listener, 10_000) > 0)

    assert connections_until_a_pause(rates(broker=50, own=5), "OUT") == 6
    assert connections_until_a_pause(rates(broker=5, own=50), "OUT") == 6
    assert connections_until_a_pause(rates(broker=50, own=5), "OTHER") == 51


def test_the_brokers_own_listener_is_held_back_by_nothing_but_its_own_rate() -> None:
    rates = ConnectionRates(ConnectionRate(max_per_second=0), protected_listener="INTERNAL")
    assert [rates.record("INTERNAL", 10_000) for _ in range(100)] == [0] * 100
    assert rates.record("CLIENTS", 10_000) == 1_000
    limited = ConnectionRates(
        ConnectionRate(), {"INTERNAL": ConnectionRate(max_per_second=0)}, protected_listener="INTERNAL"
    )
    assert limited.record("INTERNAL", 10_000) == 1_000


def test_an_address_has_the_default_rate_or_its_own() -> None:
    rates = IpConnectionRates(num_windows=3)
    assert not rates.is_limited
    rates.limit(None, 1)
    rates.limit("10.0.0.1", 2)
    assert rates.is_limited
    assert [rates.record("10.0.0.2", 10_000) for _ in range(3)] == [0, 0, 1000]
    assert [rates.record("10.0.0.1", 10_000) for _ in range(5)] == [0, 0, 0, 0, 500]
    rates.limit("10.0.0.1", None)
    assert rates.record("10.0.0.1", 10_000) == 1000
    rates.limit(None, None)
    assert rates.record("10.0.0.1", 10_000) == 0
    assert not rates.is_limited


def test_a_connection_that_is_not_served_does_not_count() -> None:
    rates = IpConnectionRates(num_windows=3)
    rates.limit(None, 1)
    for _ in range(50):
        rates.record("10.0.0.2", 10_000)
    assert rates.rates(10_000) == {"10.0.0.2": 1.0}
    assert rates.record("10.0.0.2", 13_000) == 0


def test_an_address_that_stays_away_for_an_hour_is_forgotten() -> None:
    rates = IpConnectionRates()
    rates.limit(None, 1)
    rates.record("10.0.0.1", 10_000)
    rates.record("10.0.0.2", 10_001 + FORGET_AFTER_MS)
    assert rates.rates(10_001 + FORGET_AFTER_MS).keys() == {"10.0.0.2"}
