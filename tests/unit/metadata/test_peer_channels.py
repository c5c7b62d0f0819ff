"""Requests to any broker by its id: in order, one in flight, and failed at once where the broker is not there."""

from __future__ import annotations

from typing import Any

import gevent
import pytest
from gevent.event import Event

from kafka_zk.clock import SystemClock
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metadata.peer_channels import PeerChannels
from kafka_zk.metadata.snapshot import Node
from kafka_zk.network.errors import NetworkError
from kafka_zk.protocol.errors import BrokerNotAvailable, UnsupportedVersion
from kafka_zk.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kafka_zk.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataRequest,
)
from kafka_zk.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from kafka_zk.supervision import unexpected_errors

MARKERS = WriteTxnMarkersRequest(markers=[])
TIMEOUT_MS = 10_000


class Peer:
    """One broker: counts its connections, and answers requests as long as its gate is open."""

    def __init__(self, highest_version: int = 1) -> None:
        self.highest_version = highest_version
        self.gate = Event()
        self.gate.set()
        self.ports: list[int] = []
        self.versions: list[int] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.refusals: list[NetworkError] = []
        self.losses: list[Exception] = []
        self.links: list[Link] = []

    def connect(self, node: Node, client_id: str) -> Link:
        assert client_id == "sender"
        self.ports.append(node.port)
        if self.refusals:
            raise self.refusals.pop(0)
        self.links.append(Link(self))
        return self.links[-1]


class Link:
    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self.is_closed = False

    def send(self, request: Any, api_version: int) -> Any:
        peer = self._peer
        if isinstance(request, ApiVersionsRequest):
            return ApiVersionsResponse(
                api_keys=[ApiVersion(api_key=27, min_version=0, max_version=peer.highest_version)]
            )
        peer.in_flight += 1
        peer.most_in_flight = max(peer.most_in_flight, peer.in_flight)
        peer.gate.wait()
        peer.in_flight -= 1
        if peer.losses:
            raise peer.losses.pop(0)
        peer.versions.append(api_version)
        return WriteTxnMarkersResponse(markers=[])

    def close(self) -> None:
        self.is_closed = True


def brokers(**ports: int) -> UpdateMetadataRequest:
    return UpdateMetadataRequest(
        controller_id=1,
        live_brokers=[
            UpdateMetadataBroker(
                id=int(name[1:]),
                endpoints=[UpdateMetadataEndpoint(host="h", port=port, listener="P", security_protocol=0)],
            )
            for name, port in ports.items()
        ],
    )


@pytest.fixture
def cache() -> MetadataCache:
    cache = MetadataCache()
    cache.update(brokers(b1=9001, b2=9002))
    return cache


def channels(cache: MetadataCache, peer: Peer) -> PeerChannels:
    return PeerChannels(
        client_id="sender",
        metadata_cache=cache,
        listener_name="P",
        connect=peer.connect,
        clock=SystemClock(),
        reconnect_backoff_ms=5,
    )


def test_requests_to_one_broker_use_one_connection_with_one_in_flight(cache: MetadataCache) -> None:
    peer = Peer()
    to_peers = channels(cache, peer)
    answers = [to_peers.send(2, MARKERS) for _ in range(3)]
    for answer in answers:
        assert answer.result(TIMEOUT_MS) == WriteTxnMarkersResponse(markers=[])
    assert (peer.ports, peer.most_in_flight, peer.versions) == ([9002], 1, [1, 1, 1])


def test_one_silent_broker_does_not_hold_up_another(cache: MetadataCache) -> None:
    silent, other = Peer(), Peer()
    silent.gate.clear()
    to_peers = PeerChannels(
        client_id="sender",
        metadata_cache=cache,
        listener_name="P",
        connect=lambda node, client_id: (silent if node.id == 1 else other).connect(node, client_id),
        clock=SystemClock(),
    )
    waiting = to_peers.send(1, MARKERS)
    assert to_peers.send(2, MARKERS).result(TIMEOUT_MS)
    assert not waiting.is_done
    to_peers.shutdown()


def test_a_broker_that_the_metadata_does_not_have_fails_at_once(cache: MetadataCache) -> None:
    answer = channels(cache, Peer()).send(7, MARKERS)
    assert isinstance(answer.error, BrokerNotAvailable)


def test_a_lost_connection_fails_its_request_and_the_next_connects_again(cache: MetadataCache) -> None:
    peer = Peer()
    peer.losses = [NetworkError("gone")]
    to_peers = channels(cache, peer)
    lost, kept = to_peers.send(2, MARKERS), to_peers.send(2, MARKERS)
    with pytest.raises(NetworkError, match="gone"):
        lost.result(TIMEOUT_MS)
    assert kept.result(TIMEOUT_MS)
    assert len(peer.ports) == 2
    assert peer.links[0].is_closed


def test_a_connection_that_the_peer_has_closed_is_replaced_before_it_is_used(cache: MetadataCache) -> None:
    peer = Peer()
    to_peers = channels(cache, peer)
    assert to_peers.send(2, MARKERS).result(TIMEOUT_MS)
    peer.links[0].is_closed = True
    assert to_peers.send(2, MARKERS).result(TIMEOUT_MS)
    assert len(peer.ports) == 2


def test_refused_connections_are_not_tried_again_without_a_pause(cache: MetadataCache) -> None:
    peer = Peer()
    peer.refusals = [NetworkError("refused"), NetworkError("refused")]
    to_peers = channels(cache, peer)
    clock = SystemClock()
    began_ms = clock.monotonic_ms()
    for _ in range(2):
        with pytest.raises(NetworkError, match="refused"):
            to_peers.send(2, MARKERS).result(TIMEOUT_MS)
    assert to_peers.send(2, MARKERS).result(TIMEOUT_MS)
    assert clock.monotonic_ms() - began_ms >= 2 * 5


def test_a_peer_without_a_version_that_will_do_is_told_apart(cache: MetadataCache) -> None:
    peer = Peer(highest_version=0)
    to_peers = channels(cache, peer)
    with pytest.raises(UnsupportedVersion):
        to_peers.send(2, MARKERS, lowest_version=1).result(TIMEOUT_MS)
    assert to_peers.send(2, MARKERS).result(TIMEOUT_MS)
    assert (len(peer.ports), peer.versions) == (1, [0])


def test_a_broker_that_leaves_the_cluster_fails_what_waits_for_it(cache: MetadataCache) -> None:
    peer = Peer()
    peer.gate.clear()
    to_peers = channels(cache, peer)
    waiting, queued = to_peers.send(2, MARKERS), to_peers.send(2, MARKERS)
    gevent.sleep(0)
    cache.update(brokers(b1=9001))
    assert isinstance(waiting.error, BrokerNotAvailable)
    assert isinstance(queued.error, BrokerNotAvailable)


def test_an_answer_that_comes_as_its_broker_leaves_is_no_fault_of_ours(cache: MetadataCache) -> None:
    peer = Peer()
    peer.gate.clear()
    to_peers = channels(cache, peer)
    waiting = to_peers.send(2, MARKERS)
    gevent.sleep(0)
    before = unexpected_errors.total()
    # It is told to go on, and ended before it has its turn.
    peer.gate.set()
    cache.update(brokers(b1=9001))
    gevent.sleep(0.01)
    assert isinstance(waiting.error, BrokerNotAvailable)
    assert peer.in_flight == 0 and unexpected_errors.total() == before


def test_a_broker_that_comes_back_elsewhere_is_reached_there(cache: MetadataCache) -> None:
    peer = Peer()
    to_peers = channels(cache, peer)
    assert to_peers.send(2, MARKERS).result(TIMEOUT_MS)
    cache.update(brokers(b1=9001, b2=9012))
    assert to_peers.send(2, MARKERS).result(TIMEOUT_MS)
    assert peer.ports == [9002, 9012]
    assert peer.links[0].is_closed


def test_a_stop_fails_what_waits_and_what_follows(cache: MetadataCache) -> None:
    peer = Peer()
    peer.gate.clear()
    to_peers = channels(cache, peer)
    waiting = to_peers.send(2, MARKERS)
    gevent.sleep(0)
    to_peers.shutdown()
    assert isinstance(waiting.error, NetworkError)
    assert isinstance(to_peers.send(1, MARKERS).error, NetworkError)
    assert peer.links[0].is_closed


def test_what_nobody_thought_of_fails_its_request_and_the_next_is_sent(cache: MetadataCache) -> None:
    peer = Peer()
    peer.losses = [ValueError("a bug")]
    to_peers = channels(cache, peer)
    spoilt, kept = to_peers.send(2, MARKERS), to_peers.send(2, MARKERS)
    with pytest.raises(ValueError, match="a bug"):
        spoilt.result(TIMEOUT_MS)
    assert kept.result(TIMEOUT_MS)
