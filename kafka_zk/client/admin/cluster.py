"""A client's connections to a cluster: bootstrap servers first, then one connection per node.

Role        Acts. Synchronous and used from one thread. Finds the controller, and again when it moves.
Invariants  A node is named by the id in the metadata; bootstrap servers have the ids -1, -2 ...
            After a failed attempt a node is left alone for reconnect.backoff.ms, doubled up to
            reconnect.backoff.max.ms.
            A broker that refuses this client, or is refused by it, ends the call: AuthenticationException.
Source      AdminMetadataManager, NetworkClient.leastLoadedNode, ClusterConnectionStates.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import TypeVar

from kafka_zk.client.addresses import BOOTSTRAP_SERVERS, Address, bootstrap_addresses
from kafka_zk.client.admin.connection import ConnectFailed, Connection, CutShort
from kafka_zk.client.config import ClientConfig
from kafka_zk.client.errors import AuthenticationException, DisconnectException, TimeoutException
from kafka_zk.client.network.backoff import backoff_of
from kafka_zk.client.network.node_connection import State, log_lost
from kafka_zk.client.network.settings import connection_security
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, METADATA_RESPONSE, MetadataRequest, MetadataResponse

Request = TypeVar("Request")
Response = TypeVar("Response")

NO_CONTROLLER = -1
GRACE_S = 0.5
"""Added to request.timeout.ms: a broker with the same timeout answers at its end, with a more specific error."""

log = logging.getLogger("org.apache.kafka.clients.NetworkClient")


class NoNode(DisconnectException):
    """No node that could serve the request is reachable."""


class Cluster:
    """Connections to the brokers of one cluster."""

    def __init__(self, config: ClientConfig, *, client_id: str, log_prefix: str) -> None:
        """Blocks (resolves names, reads stores). Raises ConfigException."""
        self._config = config
        self._security = connection_security(config, client_id)
        self._backoff = backoff_of(config, "reconnect.backoff")
        self._client_id = client_id
        self.log_prefix = log_prefix
        addresses = bootstrap_addresses(config.texts(BOOTSTRAP_SERVERS))
        self._bootstrap = {-1 - index: address for index, address in enumerate(addresses)}
        self._may_rebootstrap = config.text("metadata.recovery.strategy").lower() == "rebootstrap"
        self._nodes: dict[int, Address] = dict(self._bootstrap)
        self._connections: dict[int, Connection] = {}
        self._failures: dict[int, int] = {}
        self._retry_at_s: dict[int, float] = {}
        self._controller_id: int | None = None

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # --- who is asked ------------------------------------------------------------------------------------------------

    def any_node(self, deadline_s: float) -> int:
        """Blocks. Returns a connected node, preferably one already connected. Raises NoNode."""
        for node_id in self._connections:
            return node_id
        for node_id in random.sample(list(self._nodes), len(self._nodes)):
            if self._may_try(node_id) and self._open(node_id, deadline_s):
                return node_id
        if self._may_rebootstrap:
            log.info("[%s] Rebootstrapping: none of the known brokers can be reached", self.log_prefix)
            self._nodes = dict(self._bootstrap)
        raise NoNode("no broker can be reached")

    def controller(self, deadline_s: float) -> int:
        """Blocks. Returns the controller, with an open connection. Raises NoNode while there is none."""
        if self._controller_id is None:
            self.refresh(deadline_s)
        controller_id = self._controller_id
        if controller_id is None or controller_id not in self._nodes:
            self._controller_id = None
            raise NoNode("the cluster has no controller")
        if not self._may_try(controller_id) or not self._open(controller_id, deadline_s):
            self._controller_id = None
            raise NoNode("the controller cannot be reached")
        return controller_id

    def node(self, node_id: int, deadline_s: float) -> int:
        """Blocks. Opens a connection to `node_id` if there is none. Raises NoNode while it cannot be reached."""
        if node_id not in self._nodes or (node_id in self._failures and self._may_try(node_id)):
            # A broker that cannot be reached may have another address by now.
            self.refresh(deadline_s)
        if node_id not in self._nodes or not self._may_try(node_id) or not self._open(node_id, deadline_s):
            raise NoNode(f"broker {node_id} cannot be reached")
        return node_id

    def forget_controller(self) -> None:
        """Look the controller up again on the next call of `controller`."""
        self._controller_id = None

    def refresh(self, deadline_s: float) -> None:
        """Blocks. Learn brokers and controller from any node. Raises NoNode, DisconnectException, TimeoutException."""
        node_id = self.any_node(deadline_s)
        # No topics: an empty list. (In version 0 it means all: correct too, only longer.)
        answer = self.send(
            node_id, METADATA_REQUEST, METADATA_RESPONSE, lambda _: MetadataRequest(topics=[]), deadline_s=deadline_s
        )
        self.learn(answer)

    def learn(self, answer: MetadataResponse) -> None:
        """Take brokers and controller from a Metadata response."""
        if not answer.brokers:
            return
        known = {broker.node_id: Address(broker.host, broker.port) for broker in answer.brokers}
        for node_id, address in self._nodes.items():
            if node_id >= 0 and known.get(node_id) != address:
                self._drop(node_id)
        # Kafka's client drops the bootstrap connection once it knows the brokers; ours keeps it while it is open.
        bootstrap = {node_id: address for node_id, address in self._nodes.items() if node_id in self._connections}
        self._nodes = {**bootstrap, **known}
        self._controller_id = answer.controller_id if answer.controller_id != NO_CONTROLLER else None

    # --- requests ----------------------------------------------------------------------------------------------------

    def send(
        self,
        node_id: int,
        request: Message[Request],
        response: Message[Response],
        build: Callable[[int], Request],
        *,
        deadline_s: float,
    ) -> Response:
        """Blocks. Send `build(version)` to a node from `any_node` or `controller`, and return its response.

        Raises UnsupportedVersion, DisconnectException, TimeoutException (after request.timeout.ms or at the deadline).
        """
        connection = self._connections[node_id]
        version = connection.versions.version_for(request)
        value = build(version)
        request_deadline_s = time.monotonic() + self._config.integer("request.timeout.ms") / 1000 + GRACE_S
        try:
            return connection.send(
                request, response, value, version=version, deadline_s=min(deadline_s, request_deadline_s)
            )
        except BaseException:
            # After any exception, Ctrl-C too: a late response would be taken for that of the next call.
            self._drop(node_id)
            raise

    def _open(self, node_id: int, deadline_s: float) -> bool:
        """Connect to the node; returns whether there is a connection now. Raises AuthenticationException."""
        if node_id in self._connections:
            return True
        config = self._config
        try:
            self._connections[node_id] = Connection(
                self._nodes[node_id],
                client_id=self._client_id,
                setup_timeout_ms=config.integer("socket.connection.setup.timeout.ms"),
                deadline_s=min(deadline_s, time.monotonic() + config.integer("request.timeout.ms") / 1000),
                send_buffer_bytes=config.integer("send.buffer.bytes"),
                receive_buffer_bytes=config.integer("receive.buffer.bytes"),
                security=self._security,
            )
        except AuthenticationException as error:
            log_lost(self.log_prefix, node_id, error.address, State.LOGGING_IN, error)
            raise
        except (DisconnectException, TimeoutException) as error:
            self._note_failure(node_id, error)
            return False
        self._failures.pop(node_id, None)
        return True

    def _note_failure(self, node_id: int, error: Exception) -> None:
        if isinstance(error, ConnectFailed):
            log_lost(self.log_prefix, node_id, error.address, State.CONNECTING, error)
        elif isinstance(error, CutShort):
            state = State.CHECKING_API_VERSIONS if error.was_authenticated else State.LOGGING_IN
            log_lost(self.log_prefix, node_id, error.address, state, error.reason)
        elif isinstance(error, TimeoutException):
            log.info("[%s] Connection to node %s timed out", self.log_prefix, node_id)
        else:
            log.warning("[%s] Connection to node %s failed: %s", self.log_prefix, node_id, error)
        self._failures[node_id] = self._failures.get(node_id, 0) + 1
        self._retry_at_s[node_id] = time.monotonic() + self._backoff.wait_ms(self._failures[node_id]) / 1000

    def _may_try(self, node_id: int) -> bool:
        return node_id in self._connections or time.monotonic() >= self._retry_at_s.get(node_id, 0.0)

    def _drop(self, node_id: int) -> None:
        connection = self._connections.pop(node_id, None)
        if connection is not None:
            connection.close()
