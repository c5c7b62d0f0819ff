"""What a handler can use besides the request: the parts of the broker.

Role        `Services` is filled once by the broker; a RequestContext, made for each request, only refers to it.
Invariants  A handler reaches every other package through `ctx.services` only, and asks `ctx.may` before it acts.
Source      RequestContext and AuthHelper in Kafka 3.9.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from kafka_zk.admin.configs import ConfigAdmin
    from kafka_zk.admin.topics import TopicAdmin
    from kafka_zk.api.charge import Charge
    from kafka_zk.clock import Clock
    from kafka_zk.config.broker import BrokerConfig
    from kafka_zk.controller.loop import KafkaController
    from kafka_zk.coordinator.group.coordinator import GroupCoordinator
    from kafka_zk.coordinator.transaction.coordinator import TransactionCoordinator
    from kafka_zk.coordinator.transaction.marker_writer import MarkerWriter
    from kafka_zk.coordinator.transaction.producer_ids import ProducerIdManager
    from kafka_zk.log.manager import LogManager
    from kafka_zk.metadata.cache import MetadataCache
    from kafka_zk.metadata.first_update import FirstUpdate
    from kafka_zk.metrics import MetricsRegistry
    from kafka_zk.network.connection import Connection
    from kafka_zk.network.parts import Parts
    from kafka_zk.replication.manager import ReplicaManager
    from kafka_zk.replication.serving.transaction_verifier import TransactionVerifier
    from kafka_zk.security.acl.changes import AclChanges
    from kafka_zk.security.quotas.mutations import MutationQuota
    from kafka_zk.security.tokens.store import TokenStore
    from kafka_zk.zk.session import ZkClient

__all__ = ["Authentication", "Authorizer", "Quotas", "Services"]


class Client(Protocol):
    """The client of a request, as the authorizer sees it: a RequestContext."""

    api_key: int

    @property
    def principal(self) -> str: ...

    @property
    def client_host(self) -> str: ...


class Authorizer(Protocol):
    """Decides which operations a client may perform. Without one everything is allowed."""

    def may(
        self, asker: Client, operation: int, resource_type: int, name: str, audit: int, reference_count: int
    ) -> bool:
        """See RequestContext.may. Does not switch."""
        ...

    def may_on_any(self, asker: Client, operation: int, resource_type: int) -> bool: ...

    @property
    def changes(self) -> AclChanges: ...


class Authentication(Protocol):
    """Logs clients in, where they must (SASL listeners)."""

    def serve(self, frame: memoryview, connection: Connection) -> Parts | None:
        """The answer to a frame of a login; None for a request of a client that has logged in. May block.

        Raises CloseConnection: AuthenticationFailed if the login failed, SessionEnded if the session is over.
        """
        ...


class Asker(Protocol):
    """The client of a request, as quotas need it: a RequestContext."""

    client_id: str

    @property
    def principal(self) -> str: ...


class Quotas(Protocol):
    """Throttle times of clients that exceed their quotas."""

    def throttle_ms(
        self, charge: Charge, asker: Asker, request: Any, response: Any, size_bytes: int, local_ns: int
    ) -> int:
        """Record one request that took `local_ns` in its handler; 0 for no delay (KIP-219)."""
        ...

    def fetch_throttle_ms(self, asker: Asker, size_bytes: int, local_ns: int) -> int:
        """The same for a consumer's fetch, whose answer depends on it."""
        ...

    def fetch_exempt(self, local_ns: int) -> None: ...

    def most_fetch_bytes(self, asker: Asker) -> int: ...

    def mutations(self, asker: Asker, *, strict: bool) -> MutationQuota: ...


def _filled_later() -> Any:
    """The broker builds its parts one after the other; no request is served before all of them exist."""
    return None


@dataclass(slots=True)
class Services:
    """The parts of one broker, as handlers see them. `authorizer`, `tokens`, `quotas`, `authentication`: if there."""

    config: BrokerConfig = field(default_factory=_filled_later)
    clock: Clock = field(default_factory=_filled_later)
    metrics: MetricsRegistry = field(default_factory=_filled_later)
    cluster_id: str = ""
    broker_id: int = -1
    zk: ZkClient = field(default_factory=_filled_later)
    metadata_cache: MetadataCache = field(default_factory=_filled_later)
    first_update: FirstUpdate = field(default_factory=_filled_later)
    log_manager: LogManager = field(default_factory=_filled_later)
    replica_manager: ReplicaManager = field(default_factory=_filled_later)
    group_coordinator: GroupCoordinator = field(default_factory=_filled_later)
    transaction_verifier: TransactionVerifier = field(default_factory=_filled_later)
    controller: KafkaController = field(default_factory=_filled_later)
    topic_admin: TopicAdmin = field(default_factory=_filled_later)
    config_admin: ConfigAdmin = field(default_factory=_filled_later)
    producer_ids: ProducerIdManager = field(default_factory=_filled_later)
    marker_writer: MarkerWriter = field(default_factory=_filled_later)
    transaction_coordinator: TransactionCoordinator = field(default_factory=_filled_later)
    finalized_features_epoch: int = 0
    authorizer: Authorizer | None = None
    tokens: TokenStore | None = None
    quotas: Quotas | None = None
    authentication: Authentication | None = None
