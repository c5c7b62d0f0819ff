"""Produce, Fetch, ListOffsets and their kin: every version, good batches and bad ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from kafka_zk.protocol.messages.create_topics import (
    CREATE_TOPICS_REQUEST,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafka_zk.protocol.messages.delete_records import (
    DELETE_RECORDS_REQUEST,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafka_zk.protocol.messages.fetch import (
    FETCH_REQUEST,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from kafka_zk.protocol.messages.init_producer_id import INIT_PRODUCER_ID_REQUEST, InitProducerIdRequest
from kafka_zk.protocol.messages.list_offsets import (
    LIST_OFFSETS_REQUEST,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest, MetadataRequestTopic
from kafka_zk.protocol.messages.offset_for_leader_epoch import (
    OFFSET_FOR_LEADER_EPOCH_REQUEST,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafka_zk.protocol.messages.produce import (
    PRODUCE_REQUEST,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_zk.record.builder import build_batch
from kafka_zk.record.compression import Codec
from kafka_zk.record.types import Record
from tests.interop.replay.scenario import Exchange, World
from tests.support.allowed import Allowed, allowed

NOW_MS = 1_750_000_000_000
NOBODYS_ID = UUID(int=0x1234_5678_9ABC_4DEF_8123_456789ABCDEF)
TOPIC_IDS_FROM = 13
NO_BLOCK_YET = {name: allowed("first-producer-ids", by_chance=True) for name in ("producer_id", "error_code")}
MODERN = range(3, 12)
"""Versions of Produce that carry batches."""


def records(count: int = 3, **changes: Any) -> list[Record]:
    fields: dict[str, Any] = {"key": b"k", "value": b"v", "headers": []} | changes
    return [Record(offset=i, timestamp=NOW_MS + i, **fields) for i in range(count)]


def batch(count: int = 3, *, key: bytes | None = b"k", **options: Any) -> bytes:
    return bytes(build_batch(records(count, key=key), **options))


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def topics_to_fill() -> list[CreatableTopic]:
    def topic(name: str, partitions: int = 1, **configs: str) -> CreatableTopic:
        return CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[
                CreatableTopicConfig(name=key.replace("_", "."), value=value)
                # The records are older than the default retention.
                for key, value in {"retention_ms": "-1", **configs}.items()
            ],
        )

    return [
        topic("plain", 2),
        topic("compacted", cleanup_policy="compact"),
        topic("stamped", message_timestamp_type="LogAppendTime"),
        topic("small", max_message_bytes="200"),
        topic("narrow", segment_bytes="300", max_message_bytes="1000"),
        topic("fresh", message_timestamp_before_max_ms="1000"),
        topic("zipped", compression_type="gzip"),
        topic("untouched", 1),
        topic("deleted", 1),
    ]


def produce(
    name: str,
    *parts: tuple[str, int, bytes | None],
    acks: int = -1,
    versions: range = MODERN,
    transactional_id: str | None = None,
    ignore: dict[str, Allowed] | None = None,
) -> Exchange:
    by_topic: dict[str, list[PartitionProduceData]] = {}
    for topic, index, data in parts:
        by_topic.setdefault(topic, []).append(PartitionProduceData(index=index, records=data))

    def build(world: World, version: int) -> ProduceRequest:
        return ProduceRequest(
            acks=acks,
            timeout_ms=10_000,
            transactional_id=transactional_id,
            topic_data=[TopicProduceData(name=topic, partition_data=data) for topic, data in by_topic.items()],
        )

    return Exchange(f"produce: {name}", PRODUCE_REQUEST, build, versions, ignore=ignore or {})


def remember_ids(world: World, answer: Any) -> None:
    for topic in answer.topics:
        world.remembered[topic.name] = topic.topic_id


def fetch(
    name: str,
    *parts: tuple[str, int, int],
    versions: range = range(4, 18),
    change: Callable[[FetchRequest, int], None] = lambda request, version: None,
    ignore: dict[str, Allowed] | None = None,
    leader_epoch: int = -1,
    partition_max_bytes: int = 1 << 20,
) -> Exchange:
    """Partitions by (topic, index, offset); from v13 on by the topic's id."""

    def build(world: World, version: int) -> FetchRequest:
        by_id = version >= TOPIC_IDS_FROM
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=1,
            topics=[
                FetchTopic(
                    **({"topic_id": world.remembered.get(topic, NOBODYS_ID)} if by_id else {"topic": topic}),
                    partitions=[
                        FetchPartition(
                            partition=index,
                            fetch_offset=offset,
                            partition_max_bytes=partition_max_bytes,
                            **({"current_leader_epoch": leader_epoch} if version >= 9 else {}),
                        )
                    ],
                )
                for topic, index, offset in parts
            ],
        )
        change(request, version)
        return request

    return Exchange(f"fetch: {name}", FETCH_REQUEST, build, versions, ignore=ignore or {})


def offsets(
    name: str,
    *parts: tuple[str, int, int],
    versions: range = range(1, 10),
    isolation_level: int = 0,
    leader_epoch: int = -1,
    replica_id: int = -1,
) -> Exchange:
    def build(world: World, version: int) -> ListOffsetsRequest:
        return ListOffsetsRequest(
            replica_id=replica_id,
            isolation_level=isolation_level if version >= 2 else 0,
            topics=[
                ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsPartition(
                            partition_index=index,
                            timestamp=timestamp,
                            **({"current_leader_epoch": leader_epoch} if version >= 4 else {}),
                        )
                    ],
                )
                for topic, index, timestamp in parts
            ],
        )

    return Exchange(f"offsets: {name}", LIST_OFFSETS_REQUEST, build, versions)


def delete(name: str, topic: str, index: int, offset: int) -> Exchange:
    def build(world: World, version: int) -> DeleteRecordsRequest:
        partition = DeleteRecordsPartition(partition_index=index, offset=offset)
        return DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[partition])], timeout_ms=10_000)

    return Exchange(f"delete records: {name}", DELETE_RECORDS_REQUEST, build)


def delete_in_parts(name: str, *parts: tuple[str, list[tuple[int, int]]]) -> Exchange:
    request = DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(
                name=topic,
                partitions=[DeleteRecordsPartition(partition_index=index, offset=offset) for index, offset in wanted],
            )
            for topic, wanted in parts
        ],
        timeout_ms=5000,
    )
    return Exchange(f"delete records: {name}", DELETE_RECORDS_REQUEST, lambda world, version: request)


def epochs(name: str, topic: str, index: int, epoch: int, current: int = -1) -> Exchange:
    def build(world: World, version: int) -> OffsetForLeaderEpochRequest:
        partition = OffsetForLeaderPartition(
            partition=index, leader_epoch=epoch, **({"current_leader_epoch": current} if version >= 2 else {})
        )
        return OffsetForLeaderEpochRequest(
            topics=[OffsetForLeaderTopic(topic=topic, partitions=[partition])],
            **({"replica_id": -1} if version >= 3 else {}),
        )

    return Exchange(f"epochs: {name}", OFFSET_FOR_LEADER_EPOCH_REQUEST, build)


def producer_id(name: str, versions: range = range(6), **fields: Any) -> Exchange:
    return Exchange(
        f"producer id: {name}",
        INIT_PRODUCER_ID_REQUEST,
        lambda world, version: InitProducerIdRequest(transaction_timeout_ms=1000, **fields),
        versions,
        ignore=NO_BLOCK_YET,
    )


def set_isolation(request: FetchRequest, version: int) -> None:
    request.isolation_level = 1


def set_unknown_isolation(request: FetchRequest, version: int) -> None:
    request.isolation_level = 2


def no_min_bytes(request: FetchRequest, version: int) -> None:
    request.min_bytes = 0


def one_small_byte(request: FetchRequest, version: int) -> None:
    request.max_bytes = 1


def unknown_session(request: FetchRequest, version: int) -> None:
    request.session_id, request.session_epoch = 12345, 3


def new_session(request: FetchRequest, version: int) -> None:
    request.session_epoch = 0


def forgets(request: FetchRequest, version: int) -> None:
    request.session_id, request.session_epoch = 12345, 1
    request.forgotten_topics_data = [
        ForgottenTopic(topic_id=NOBODYS_ID, partitions=[0])
        if version >= TOPIC_IDS_FROM
        else ForgottenTopic(topic="plain", partitions=[0])
    ]


SNAPPY = {"records": allowed("snappy-packing")}
TOO_OLD = {"batch_index_error_message": allowed("time-of-day")}
IDEMPOTENT = {"producer_id": 4242, "producer_epoch": 0}

EXCHANGES = (
    Exchange(
        "topics to fill",
        CREATE_TOPICS_REQUEST,
        lambda world, version: CreateTopicsRequest(topics=topics_to_fill(), timeout_ms=20_000),
        [7],
    ),
    Exchange(
        "their ids",
        METADATA_REQUEST,
        lambda world, version: MetadataRequest(topics=[MetadataRequestTopic(name=t.name) for t in topics_to_fill()]),
        [12],
        keep=remember_ids,
    ),
    produce("one batch", ("plain", 0, batch())),
    produce("acks=1", ("plain", 0, batch()), acks=1),
    produce("acks=2", ("plain", 0, batch()), acks=2),
    *(
        produce(f"{codec.name} compressed", ("plain", 1, batch(codec=codec)))
        for codec in Codec
        if codec is not Codec.NONE
    ),
    produce("two partitions", ("plain", 0, batch(1)), ("plain", 1, batch(2))),
    produce("a good and an unknown one", ("plain", 0, batch(1)), ("nowhere", 0, batch(1))),
    produce("an unknown partition", ("plain", 7, batch(1))),
    produce("no records", ("plain", 0, b"")),
    produce("two batches", ("plain", 0, batch(1) + batch(1))),
    produce("a wrong crc", ("plain", 0, flipped(batch(), 18))),
    produce("a wrong magic", ("plain", 0, flipped(batch(), 16))),
    produce("a wrong magic beside a good batch", ("plain", 0, batch(1)), ("plain", 1, flipped(batch(), 16))),
    produce(
        "an impossible length beside a good batch",
        ("plain", 0, batch(1)),
        ("plain", 1, batch()[:8] + b"\0\0\0\1" + batch()[12:]),
    ),
    produce("a batch cut short", ("plain", 0, batch()[:-5])),
    produce("half a header", ("plain", 0, batch()[:30])),
    produce("a wrong value byte", ("plain", 0, flipped(batch(), -2 % len(batch())))),
    produce("a base offset", ("plain", 0, batch(base_offset=5))),
    produce(
        "a control batch",
        ("plain", 0, batch(1, control=True, transactional=True, **IDEMPOTENT)),
    ),
    produce("too large", ("small", 0, batch(50))),
    produce("larger than a segment", ("narrow", 0, batch(40))),
    produce("no key on a compacted topic", ("compacted", 0, batch(2, key=None))),
    produce("a key on a compacted topic", ("compacted", 0, batch(2))),
    produce("too old", ("fresh", 0, batch(2)), ignore=TOO_OLD),
    produce("stamped by the log", ("stamped", 0, batch(2))),
    produce("recompressed", ("zipped", 0, batch(4, codec=Codec.LZ4))),
    produce("an internal topic", ("__consumer_offsets", 0, batch(1))),
    produce("idempotent", ("plain", 0, batch(2, base_sequence=0, **IDEMPOTENT)), versions=range(9, 10)),
    produce("idempotent, repeated", ("plain", 0, batch(2, base_sequence=0, **IDEMPOTENT)), versions=range(9, 12)),
    produce("idempotent, next", ("plain", 0, batch(1, base_sequence=2, **IDEMPOTENT)), versions=range(9, 10)),
    produce("idempotent, a hole", ("plain", 0, batch(1, base_sequence=9, **IDEMPOTENT))),
    produce("idempotent, an old epoch", ("plain", 0, batch(1, base_sequence=3, producer_id=4242, producer_epoch=-2))),
    produce(
        "idempotent, a new epoch in the middle",
        ("plain", 0, batch(1, base_sequence=3, producer_id=4242, producer_epoch=1)),
    ),
    produce("idempotent, no sequence", ("plain", 0, batch(1, base_sequence=-1, **IDEMPOTENT))),
    produce(
        "idempotent, unknown producer in the middle",
        ("plain", 0, batch(1, base_sequence=5, producer_id=77, producer_epoch=0)),
        versions=range(9, 10),
    ),
    producer_id("fresh"),
    producer_id("with a half of an id", range(3, 6), producer_id=5, transactional_id=None),
    fetch("from the start", ("plain", 0, 0)),
    fetch("compressed", ("plain", 1, 0), versions=range(10, 18)),
    fetch("from the middle of a batch", ("plain", 0, 1)),
    fetch("at the end", ("plain", 0, 10_000)),
    fetch("a negative offset", ("plain", 0, -1)),
    fetch("two partitions", ("plain", 0, 0), ("compacted", 0, 0)),
    fetch("an unknown topic", ("nowhere", 0, 0)),
    fetch("an unknown partition", ("plain", 9, 0)),
    fetch("an empty log", ("untouched", 0, 0)),
    fetch("committed only", ("plain", 0, 0), change=set_isolation),
    fetch("an unknown isolation level", ("plain", 0, 0), change=set_unknown_isolation),
    fetch("an unknown isolation level, nothing to read", ("nowhere", 0, 0), change=set_unknown_isolation),
    fetch("one byte in all", ("plain", 0, 0), ("compacted", 0, 0), change=one_small_byte),
    fetch("one byte a partition", ("plain", 0, 0), ("compacted", 0, 0), partition_max_bytes=1),
    fetch("an old leader epoch", ("plain", 0, 0), versions=range(9, 18), leader_epoch=-5),
    fetch("a future leader epoch", ("plain", 0, 0), versions=range(9, 18), leader_epoch=7),
    fetch("the right leader epoch", ("plain", 0, 0), versions=range(9, 18), leader_epoch=0),
    fetch("an unknown session", ("plain", 0, 0), versions=range(7, 18), change=unknown_session),
    fetch("a new session", ("plain", 0, 0), versions=range(7, 18), change=new_session),
    fetch("forgetting in an unknown session", versions=range(7, 18), change=forgets),
    fetch("nothing"),
    fetch("no min bytes", ("untouched", 0, 0), change=no_min_bytes),
    fetch("old versions", ("plain", 0, 0), versions=range(4)),
    fetch("old versions, every codec", ("plain", 1, 0), versions=range(4), ignore=SNAPPY),
    fetch("versions before zstd, zstd", ("plain", 1, 0), versions=range(4, 10)),
    *(
        offsets(name, ("plain", 0, timestamp), versions=versions)
        for name, timestamp, versions in (
            ("latest", -1, range(1, 10)),
            ("earliest", -2, range(1, 10)),
            ("largest timestamp", -3, range(1, 10)),
            ("earliest local", -4, range(1, 10)),
            ("latest tiered", -5, range(1, 10)),
            ("unknown special", -6, range(1, 10)),
            ("by time", NOW_MS + 1, range(1, 10)),
            ("by time before all", 5, range(1, 10)),
            ("by time after all", NOW_MS + 1_000_000, range(1, 10)),
        )
    ),
    offsets("by time, compressed", ("plain", 1, NOW_MS + 2)),
    offsets("largest timestamp, compressed", ("plain", 1, -3), versions=range(7, 10)),
    offsets("latest of an empty log", ("untouched", 0, -1)),
    offsets("by time in an empty log", ("untouched", 0, 5)),
    offsets("largest timestamp of an empty log", ("untouched", 0, -3), versions=range(7, 10)),
    offsets("an unknown topic", ("nowhere", 0, -1)),
    offsets("an unknown partition", ("plain", 9, -1)),
    offsets("one partition twice", ("plain", 0, -1), ("plain", 0, -2)),
    offsets("latest committed", ("plain", 0, -1), versions=range(2, 10), isolation_level=1),
    offsets("an unknown isolation level", ("plain", 0, -1), ("plain", 9, 0), versions=range(2, 10), isolation_level=2),
    offsets("special times of the future", *(("plain", 0, time) for time in range(-9, 0)), versions=range(1)),
    offsets("a special time of an unknown partition", ("plain", 9, -4), ("nowhere", 0, -3), versions=range(10)),
    offsets("a future leader epoch", ("plain", 0, -1), versions=range(4, 10), leader_epoch=5),
    offsets("as a debugging replica", ("plain", 0, -1), replica_id=-2),
    offsets("v0", ("plain", 0, -1), ("plain", 1, -2), versions=range(1)),
    epochs("the first", "plain", 0, 0),
    epochs("a future one", "plain", 0, 5),
    epochs("none", "plain", 0, -1),
    epochs("an unknown topic", "nowhere", 0, 0),
    epochs("an unknown partition", "plain", 9, 0),
    epochs("fenced", "plain", 0, 0, current=9),
    produce("records to delete", ("deleted", 0, batch(9)), versions=range(9, 10)),
    delete("below three", "deleted", 0, 3),
    delete("below one, again", "deleted", 0, 1),
    delete("up to the high watermark", "deleted", 0, -1),
    delete("too far", "deleted", 0, 500),
    delete("a strange offset", "deleted", 0, -2),
    delete("of a compacted topic", "compacted", 0, 1),
    delete("of an unknown topic", "nowhere", 0, 1),
    delete("of an unknown partition", "plain", 9, 1),
    delete_in_parts("of a topic that is named twice", ("nowhere", [(0, 1)]), ("nowhere", [(0, 2)])),
    delete_in_parts("of a partition that is named twice", ("deleted", [(0, 4), (0, 5)])),
    delete_in_parts("of a topic without partitions", ("deleted", []), ("nowhere", [(0, 1)])),
    delete("of an internal topic", "__consumer_offsets", 0, 1),
    fetch("what was deleted", ("deleted", 0, 0)),
    offsets("earliest after deletion", ("deleted", 0, -2)),
)
