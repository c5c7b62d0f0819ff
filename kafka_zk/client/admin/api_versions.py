"""Which request versions each broker supports.

Role        Acts, through `Calls`. Nothing is retried: callers want to see the current state.
Source      kafka.admin.BrokerApiVersionsCommand.AdminClient (findAllBrokers, getNodeApiVersions).
"""

from __future__ import annotations

import time

from kafka_zk.client.admin.admin_results import Node
from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.client.errors import KafkaException
from kafka_zk.client.network.frames import api_versions_request
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.messages.api_versions import (
    API_VERSIONS_REQUEST,
    API_VERSIONS_RESPONSE,
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, METADATA_RESPONSE, MetadataRequest

PAUSE_S = 0.05
"""A cluster without any broker in its metadata is still starting."""

Versions = list[ApiVersion]


def describe_api_versions(calls: Calls) -> dict[Node, Versions | BrokerError | KafkaException]:
    """Waits for a broker. Raises NoNode if none can be reached; the value of a broker that fails is its error."""
    while not (nodes := _brokers(calls)):
        time.sleep(PAUSE_S)
    return {node: _versions(calls, node) for node in nodes}


def _deadline_s(calls: Calls) -> float:
    return time.monotonic() + calls.timeout_ms / 1000


def _brokers(calls: Calls) -> list[Node]:
    call = Call("listNodes", METADATA_REQUEST, METADATA_RESPONSE, lambda _: MetadataRequest(topics=[]))
    answer = calls.to_any_node_once(call, _deadline_s(calls))
    return [Node(broker.node_id, broker.host, broker.port, broker.rack) for broker in answer.brokers]


def _versions(calls: Calls, node: Node) -> Versions | BrokerError | KafkaException:
    def build(_: int) -> ApiVersionsRequest:
        return api_versions_request()

    def check(answer: ApiVersionsResponse) -> None:
        raise_for(answer.error_code, None)

    call = Call("apiVersions", API_VERSIONS_REQUEST, API_VERSIONS_RESPONSE, build, check)
    try:
        return list(calls.to_node_once(node.id, call, _deadline_s(calls)).api_keys)
    except (BrokerError, KafkaException) as error:
        return error
