"""Applies the quotas in ZooKeeper to the quota managers and listeners.

Role        Acts. Clients' quotas go to the quota managers, those of addresses to the listeners.
Invariants  While no user or client has a quota, requests are served without a quota lookup: `services.quotas` is None.
Source      QuotaConfigHandler, UserConfigHandler, ClientIdConfigHandler, IpConfigHandler.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_zk.api.services import Services
from kafka_zk.api.throttling import Throttling
from kafka_zk.clock import Clock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.network.quotas import IpConnectionRates
from kafka_zk.protocol.errors import InvalidConfig
from kafka_zk.security.quotas.addresses import address_of
from kafka_zk.security.quotas.limits import Entity
from kafka_zk.security.quotas.manager import QuotaManagers
from kafka_zk.security.quotas.overrides import connection_rate

IPS = "ips"


class QuotaConfigs:
    """All quotas of one broker."""

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        metrics: MetricsRegistry,
        services: Services,
        ip_rates: IpConnectionRates,
    ) -> None:
        self._services = services
        self._ip_rates = ip_rates
        self._managers = QuotaManagers(
            clock,
            metrics,
            num_samples=config.quota_window_num,
            window_ms=config.quota_window_size_seconds * 1000,
            mutation_num_samples=config.controller_quota_window_num,
            mutation_window_ms=config.controller_quota_window_size_seconds * 1000,
        )
        self._throttling = Throttling(self._managers)

    def apply(self, entity: Entity, overrides: Mapping[str, str]) -> None:
        """Blocks for an ip given as a host name. Apply all overrides of one entity. Raises InvalidConfig."""
        entity_type, name = entity[0]
        if entity_type == IPS:
            self._limit_connections(name, connection_rate(overrides))
            return
        self._managers.update(entity, overrides)
        self._services.quotas = self._throttling if self._managers.is_configured else None

    def _limit_connections(self, name: str | None, max_per_second: int | None) -> None:
        address = None if name is None else address_of(name)
        if name is not None and address is None:
            raise InvalidConfig(f"Unable to resolve address {name}")
        self._ip_rates.limit(address, max_per_second)
