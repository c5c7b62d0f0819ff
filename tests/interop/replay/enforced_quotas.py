"""Client quotas enforced: what waits, and how long; what is refused, and to whom.

The first request of a client over its quota counts over exactly ten seconds: its wait depends on its size alone, and is
the same to the millisecond.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kafka_zk.protocol.messages.create_partitions import (
    CREATE_PARTITIONS_REQUEST,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafka_zk.protocol.messages.create_topics import (
    CREATE_TOPICS_REQUEST,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafka_zk.protocol.messages.delete_topics import DELETE_TOPICS_REQUEST, DeleteTopicsRequest, DeleteTopicState
from kafka_zk.protocol.messages.fetch import FETCH_REQUEST, FetchPartition, FetchRequest, FetchTopic
from kafka_zk.protocol.messages.list_offsets import (
    LIST_OFFSETS_REQUEST,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_zk.protocol.messages.produce import (
    PRODUCE_REQUEST,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_zk.record.builder import build_batch
from kafka_zk.record.record import Record
from tests.interop.replay.quotas import C, U, alter, one
from tests.interop.replay.scenario import Exchange, World
from tests.support.allowed import allowed
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient

NOW_MS = 1_700_000_000_000
TIMELESS = CreatableTopicConfig(name="retention.ms", value="-1")
ENFORCED_TOPIC = "enforced"
PROBE = "probe"
TIME_GOES_ON = {"throttle_time_ms": allowed("time-goes-on", by_chance=True)}


def topics(name: str, version: int, *wanted: tuple[str, int], client_id: str, validate_only: bool = False) -> Exchange:
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(name=topic, num_partitions=count, replication_factor=1, configs=[TIMELESS])
            for topic, count in wanted
        ],
        timeout_ms=20_000,
        validate_only=validate_only,
    )
    return Exchange(
        f"quotas, topics: {name}",
        CREATE_TOPICS_REQUEST,
        lambda world, version: request,
        [version],
        client_id=client_id,
        ignore=TIME_GOES_ON,
    )


def more_partitions(name: str, version: int, topic: str, count: int) -> Exchange:
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=topic, count=count, assignments=None)], timeout_ms=20_000
    )
    return Exchange(
        f"quotas, partitions: {name}",
        CREATE_PARTITIONS_REQUEST,
        lambda world, version: request,
        [version],
        client_id="mutator",
        ignore=TIME_GOES_ON,
    )


def delete_topics(name: str, version: int, *names: str) -> Exchange:
    states = [DeleteTopicState(name=topic) for topic in names]
    request = DeleteTopicsRequest(
        topics=states if version >= 6 else [], topic_names=[] if version >= 6 else list(names), timeout_ms=20_000
    )
    return Exchange(
        f"quotas, deletion: {name}",
        DELETE_TOPICS_REQUEST,
        lambda world, version: request,
        [version],
        client_id="mutator",
        ignore=TIME_GOES_ON,
    )


def produced(name: str, client_id: str, *, size_bytes: int, acks: int = -1) -> Exchange:
    """One batch. The first one of a client counts over exactly ten seconds: its wait depends on its size alone."""
    records = [Record(offset=0, timestamp=NOW_MS, key=None, value=bytes(size_bytes), headers=[])]
    data = PartitionProduceData(index=0, records=bytes(build_batch(records)))
    request = ProduceRequest(
        acks=acks, timeout_ms=10_000, topic_data=[TopicProduceData(name=ENFORCED_TOPIC, partition_data=[data])]
    )
    return Exchange(
        f"quotas, produce: {name}", PRODUCE_REQUEST, lambda world, version: request, [9], client_id=client_id
    )


def fetched(
    name: str, client_id: str, *, offset: int = 0, session_epoch: int = -1, max_bytes: int = 1 << 20
) -> Exchange:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=max_bytes,
        session_epoch=session_epoch,
        topics=[FetchTopic(topic=ENFORCED_TOPIC, partitions=[partition])],
    )
    return Exchange(f"quotas, fetch: {name}", FETCH_REQUEST, lambda world, version: request, [12], client_id=client_id)


LOOK = ListOffsetsRequest(
    topics=[ListOffsetsTopic(name=ENFORCED_TOPIC, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])]
)


def asked(name: str, client_id: str) -> Exchange:
    """Something small that takes time."""
    return Exchange(
        f"quotas, time: {name}", LIST_OFFSETS_REQUEST, lambda world, version: LOOK, [5], client_id=client_id
    )


def once_all_hold(exchange: Exchange) -> Exchange:
    """Quotas reach a broker through ZooKeeper, in their order: all hold when that of PROBE, the last one, does."""

    def build(world: World, version: int) -> Any:
        def holds() -> bool:
            with RawClient(world.bootstrap, PROBE) as client:
                return bool(client.send(LIST_OFFSETS_REQUEST, LOOK, 5).throttle_time_ms)

        wait_until(holds, "the quotas hold")
        return exchange.build(world, version)

    return replace(exchange, build=build)


EXCHANGES = (
    topics("to write to", 7, (ENFORCED_TOPIC, 1), client_id="free"),
    alter(
        "those that are enforced",
        one({C: "writer"}, producer_byte_rate=1000.0),
        one({C: "writer-0"}, producer_byte_rate=1000.0),
        one({U: "ANONYMOUS", C: "shared"}, producer_byte_rate=500.0),
        one({U: "ANONYMOUS", C: None}, producer_byte_rate=2000.0),
        one({C: "reader"}, consumer_byte_rate=1000.0),
        one({U: "ANONYMOUS", C: "reader"}, consumer_byte_rate=1000.0, producer_byte_rate=1e9),
        one({U: "ANONYMOUS", C: "session-reader"}, consumer_byte_rate=1000.0),
        one({U: "ANONYMOUS", C: "slow"}, request_percentage=0.00001),
        one({U: "ANONYMOUS", C: "mutator"}, controller_mutation_rate=0.01),
        one({U: "ANONYMOUS", C: PROBE}, request_percentage=0.00001),
    ),
    once_all_hold(produced("below a user's quota for any client", "other", size_bytes=15_000)),
    produced("above it", "another", size_bytes=100_000),
    produced("above a client's quota that a user's outdoes", "writer", size_bytes=15_000),
    produced("above a user's quota for a client", "shared", size_bytes=15_000),
    produced("above it again", "shared-too", size_bytes=40_000),
    fetched("above a quota", "reader"),
    fetched("above a quota, opening a session", "session-reader", session_epoch=0),
    fetched("nothing new", "reader", offset=5),
    fetched("without a quota", "free"),
    asked("too much of it", "slow"),
    produced("too much time", "slow", size_bytes=10),
    topics("more than there are tokens", 7, ("mutated", 20), client_id="mutator"),
    topics("refused", 7, ("refused-1", 1), ("refused-2", 1), client_id="mutator"),
    topics("refused beside one that is wrong", 7, ("mutated", 1), ("refused-1", 1), client_id="mutator"),
    topics("only looked at", 7, ("refused-1", 1), client_id="mutator", validate_only=True),
    topics("of an old client", 5, ("late", 1), client_id="mutator"),
    more_partitions("refused", 3, "mutated", 21),
    more_partitions("of an old client", 2, "mutated", 21),
    delete_topics("refused", 6, "late", "mutated"),
    delete_topics("refused beside one that is not there", 5, "late", "nowhere"),
    delete_topics("of an old client", 4, "late"),
)
