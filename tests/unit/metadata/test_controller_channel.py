"""Requests to the controller: retried, and sent to wherever it is now."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import gevent
import pytest

from kafka_zk.clock import SystemClock
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metadata.controller_channel import ControllerChannel
from kafka_zk.metadata.peer_versions import PeerVersions
from kafka_zk.metadata.request_forms import highest_version, in_version
from kafka_zk.metadata.snapshot import Node
from kafka_zk.network.errors import NetworkError
from kafka_zk.protocol.errors import ErrorCode, RequestTimedOut, UnsupportedVersion
from kafka_zk.protocol.messages.allocate_producer_ids import (
    ALLOCATE_PRODUCER_IDS_REQUEST,
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from kafka_zk.protocol.messages.alter_partition import (
    ALTER_PARTITION_REQUEST,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from kafka_zk.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kafka_zk.protocol.messages.controlled_shutdown import CONTROLLED_SHUTDOWN_REQUEST, ControlledShutdownRequest
from kafka_zk.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataRequest,
)
from kafka_zk.protocol.types import NULL_UUID

ALLOCATE = AllocateProducerIdsRequest(broker_id=1, broker_epoch=5)


class Cluster:
    """Brokers that answer; `answers` are codes or errors, taken in turn, then NONE."""

    def __init__(self, served_key: int = 67) -> None:
        self.answers: list[ErrorCode | Exception] = []
        self.asked: list[int] = []
        self.served_key = served_key
        self.former_controllers: set[int] = set()

    def connect(self, node: Node) -> Talker:
        return Talker(self, node)


class Talker:
    def __init__(self, cluster: Cluster, node: Node) -> None:
        self._cluster = cluster
        self._node = node

    def send(self, request: Any, api_version: int) -> Any:
        if isinstance(request, ApiVersionsRequest):
            key = self._cluster.served_key
            return ApiVersionsResponse(api_keys=[ApiVersion(api_key=key, min_version=0, max_version=3)])
        self._cluster.asked.append(self._node.id)
        if self._node.id in self._cluster.former_controllers:
            return AllocateProducerIdsResponse(error_code=ErrorCode.NOT_CONTROLLER)
        answer = self._cluster.answers.pop(0) if self._cluster.answers else ErrorCode.NONE
        if isinstance(answer, Exception):
            raise answer
        assert api_version == 0
        return AllocateProducerIdsResponse(error_code=answer, producer_id_start=1000)

    def close(self) -> None:
        return


def metadata(controller: int) -> UpdateMetadataRequest:
    brokers = [
        UpdateMetadataBroker(
            id=broker_id,
            endpoints=[UpdateMetadataEndpoint(host="h", port=broker_id, listener="P", security_protocol=0)],
        )
        for broker_id in (1, 2)
    ]
    return UpdateMetadataRequest(controller_id=controller, live_brokers=brokers)


@pytest.fixture
def cache() -> MetadataCache:
    return MetadataCache()


def opened(cache: MetadataCache, cluster: Cluster) -> ControllerChannel:
    channel = ControllerChannel(
        metadata_cache=cache, listener_name="P", clock=SystemClock(), connect=cluster.connect, retry_backoff_ms=1
    )
    channel.start()
    return channel


def test_a_request_waits_until_the_metadata_names_a_controller(cache: MetadataCache) -> None:
    cluster = Cluster()
    channel = opened(cache, cluster)
    pending = channel.send(ALLOCATE)
    gevent.sleep(0)
    assert not pending.is_done
    cache.update(metadata(controller=2))
    assert pending.result(5_000).producer_id_start == 1000
    assert cluster.asked == [2]
    channel.shutdown()


def test_a_request_follows_the_controller_when_it_moves(cache: MetadataCache) -> None:
    cluster = Cluster()
    cluster.former_controllers = {1}
    cache.update(metadata(controller=1))
    channel = opened(cache, cluster)
    pending = channel.send(ALLOCATE)
    while not cluster.asked:
        gevent.sleep(0)
    cache.update(metadata(controller=2))
    assert pending.result(5_000).error_code == 0
    assert cluster.asked[0] == 1
    assert cluster.asked[-1] == 2
    channel.shutdown()


def test_a_lost_connection_is_not_the_senders_concern(cache: MetadataCache) -> None:
    cluster = Cluster()
    cluster.answers = [NetworkError("gone"), NetworkError("gone")]
    cache.update(metadata(controller=1))
    channel = opened(cache, cluster)
    assert channel.send(ALLOCATE).result(5_000).error_code == 0
    assert cluster.asked == [1, 1, 1]
    channel.shutdown()


def test_a_request_with_a_deadline_fails_when_no_controller_comes(cache: MetadataCache) -> None:
    channel = opened(cache, Cluster())
    with pytest.raises(RequestTimedOut):
        channel.send(ALLOCATE, timeout_ms=20).result(5_000)
    assert channel.waiting_count == 0
    channel.shutdown()


def test_an_api_that_the_controller_does_not_know_fails_at_once(cache: MetadataCache) -> None:
    cache.update(metadata(controller=1))
    channel = opened(cache, Cluster(served_key=56))
    with pytest.raises(UnsupportedVersion):
        channel.send(ALLOCATE).result(5_000)
    channel.shutdown()


def test_what_nobody_expected_fails_one_request_and_the_next_goes_on(cache: MetadataCache) -> None:
    cluster = Cluster()
    cluster.answers = [ValueError("a bug"), ErrorCode.NONE]
    cache.update(metadata(controller=1))
    channel = opened(cache, cluster)
    first, second = channel.send(ALLOCATE), channel.send(ALLOCATE)
    with pytest.raises(ValueError, match="a bug"):
        first.result(5_000)
    assert second.result(5_000).producer_id_start == 1000
    channel.send(ALLOCATE).on_complete(lambda _: 1 // 0)
    assert channel.send(ALLOCATE).result(5_000).error_code == 0
    channel.shutdown()


@pytest.mark.parametrize("api_version", range(4))
def test_an_isr_change_reaches_controllers_of_every_release(cache: MetadataCache, api_version: int) -> None:
    topic_id = UUID(int=5)
    sent = AlterPartitionRequest(
        broker_id=1,
        broker_epoch=9,
        topics=[
            RequestTopicData(
                topic_name="t",
                topic_id=topic_id,
                partitions=[
                    RequestPartitionData(
                        partition_index=3,
                        leader_epoch=4,
                        new_isr_with_epochs=[BrokerState(broker_id=1), BrokerState(broker_id=2)],
                        partition_epoch=6,
                    )
                ],
            )
        ],
    )
    received: list[AlterPartitionRequest] = []

    class Controller(Talker):
        def send(self, request: Any, version: int) -> Any:
            if isinstance(request, ApiVersionsRequest):
                return ApiVersionsResponse(api_keys=[ApiVersion(api_key=56, min_version=0, max_version=api_version)])
            assert version == api_version
            frame = ALTER_PARTITION_REQUEST.encode(request, version)
            received.append(ALTER_PARTITION_REQUEST.decode(memoryview(frame), version, 0))
            return AlterPartitionResponse()

    cache.update(metadata(controller=1))
    cluster = Cluster()
    cluster.connect = lambda node: Controller(cluster, node)  # type: ignore[method-assign]
    channel = opened(cache, cluster)
    channel.send(sent).result(5_000)
    channel.shutdown()
    (topic,) = received[0].topics
    (partition,) = topic.partitions
    assert (topic.topic_name, topic.topic_id) == (("t", NULL_UUID) if api_version < 2 else ("", topic_id))
    members = partition.new_isr or [member.broker_id for member in partition.new_isr_with_epochs]
    assert (members, partition.leader_epoch, partition.partition_epoch) == ([1, 2], 4, 6)


def test_topics_without_ids_go_by_their_names_to_a_controller_that_would_take_ids() -> None:
    named, identified = RequestTopicData(topic_name="named"), RequestTopicData(topic_name="t", topic_id=UUID(int=5))
    both = AlterPartitionRequest(broker_id=1, broker_epoch=9, topics=[named, identified])
    versions = PeerVersions("The controller", {56: (0, 3)})
    assert versions.version_for(both, highest=highest_version(both)) == 1
    alone = AlterPartitionRequest(broker_id=1, broker_epoch=9, topics=[identified])
    assert versions.version_for(alone, highest=highest_version(alone)) == 3


@pytest.mark.parametrize("api_version", range(4))
def test_every_other_request_to_the_controller_has_a_form_in_each_version(api_version: int) -> None:
    shutdown = ControlledShutdownRequest(broker_id=1, broker_epoch=9)
    assert CONTROLLED_SHUTDOWN_REQUEST.encode(in_version(shutdown, api_version), api_version)
    if api_version == 0:
        assert ALLOCATE_PRODUCER_IDS_REQUEST.encode(in_version(ALLOCATE, 0), 0)


def test_requests_are_answered_in_order(cache: MetadataCache) -> None:
    cluster = Cluster()
    cache.update(metadata(controller=1))
    channel = opened(cache, cluster)
    order: list[int] = []
    last = None
    for number in range(5):
        last = channel.send(ALLOCATE)
        last.on_complete(lambda _, number=number: order.append(number))
    assert last is not None
    last.result(5_000)
    assert order == [0, 1, 2, 3, 4]
    channel.shutdown()


def test_shutdown_fails_what_still_waits(cache: MetadataCache) -> None:
    channel = opened(cache, Cluster())
    pending = channel.send(ALLOCATE)
    channel.shutdown()
    assert isinstance(pending.error, NetworkError)
    assert isinstance(channel.send(ALLOCATE).error, NetworkError)
