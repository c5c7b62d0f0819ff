"""The context of one request: its client, and the parts of the broker that serve it. Made for each request.

Source      RequestContext and AuthHelper in Kafka 3.9.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kafka_zk.api.request_log import Described
    from kafka_zk.api.services import Services


class Client(Protocol):
    """A connection, as dispatch and handlers see it."""

    client_host: str
    client_software_name: str
    client_software_version: str
    listener_name: str
    principal: str
    security_protocol: str
    sent_stamp: list[int]
    token_authenticated: bool

    def mute(self, throttle_ms: int) -> None: ...


class RequestContext:
    """The context of one request. `gives_way`: its handler yields to other greenlets between elements.
    `described`: for the request log, if that is on."""

    __slots__ = (
        "api_key",
        "api_version",
        "client_id",
        "connection",
        "correlation_id",
        "described",
        "gives_way",
        "services",
    )

    def __init__(
        self,
        api_key: int,
        api_version: int,
        correlation_id: int,
        client_id: str,
        connection: Client,
        services: Services,
    ) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.connection = connection
        self.services = services
        self.gives_way = False
        self.described: Described | None = None

    @property
    def principal(self) -> str:
        """The principal in Kafka's text form; "User:ANONYMOUS" without authentication."""
        return self.connection.principal

    @property
    def client_host(self) -> str:
        """The client's address without a port, as ACLs and group members show it."""
        return self.connection.client_host

    @property
    def listener_name(self) -> str:
        return self.connection.listener_name

    def may(
        self,
        operation: int,
        resource_type: int,
        name: str,
        audit: int = 0,
        reference_count: int = 1,
    ) -> bool:
        """Whether the client may do this: codes of `protocol.acl`.

        For the audit log: `audit` says what the check is for (`security.acl.audit.Audit`; ACCESS by default), and
        `reference_count` how often the request names the resource.
        """
        authorizer = self.services.authorizer
        return authorizer is None or authorizer.may(self, operation, resource_type, name, audit, reference_count)

    def may_on_any(self, operation: int, resource_type: int) -> bool:
        """Whether the client may do this to some resource of the type."""
        authorizer = self.services.authorizer
        return authorizer is None or authorizer.may_on_any(self, operation, resource_type)

    def __repr__(self) -> str:
        return (
            f"api_key={self.api_key} v{self.api_version} correlation_id={self.correlation_id} "
            f"client_id={self.client_id!r} {self.principal}@{self.client_host}"
        )
