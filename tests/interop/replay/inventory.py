"""What a broker has and who writes to it; and requests that ZooKeeper mode lists only to refuse them."""

from __future__ import annotations

from typing import Any

from kafka_zk.protocol.messages.consumer_group_describe import (
    CONSUMER_GROUP_DESCRIBE_REQUEST,
    ConsumerGroupDescribeRequest,
)
from kafka_zk.protocol.messages.consumer_group_heartbeat import (
    CONSUMER_GROUP_HEARTBEAT_REQUEST,
    ConsumerGroupHeartbeatRequest,
)
from kafka_zk.protocol.messages.create_topics import (
    CREATE_TOPICS_REQUEST,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafka_zk.protocol.messages.describe_log_dirs import (
    DESCRIBE_LOG_DIRS_REQUEST,
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from kafka_zk.protocol.messages.describe_producers import (
    DESCRIBE_PRODUCERS_REQUEST,
    DescribeProducersRequest,
    TopicRequest,
)
from kafka_zk.protocol.messages.envelope import ENVELOPE_REQUEST, EnvelopeRequest
from kafka_zk.protocol.messages.produce import (
    PRODUCE_REQUEST,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_zk.protocol.messages.update_features import (
    UPDATE_FEATURES_REQUEST,
    FeatureUpdateKey,
    UpdateFeaturesRequest,
)
from kafka_zk.record.builder import build_batch
from kafka_zk.record.types import Record
from tests.interop.replay.scenario import Exchange, World
from tests.support.allowed import allowed

NOW_MS = 1_750_000_000_000
DIRECTORY = {"usable_bytes": allowed("shared-disk", by_chance=True)}


def produce(name: str, topic: str, **producer: int) -> Exchange:
    records = [Record(offset=i, timestamp=NOW_MS + i, key=b"k", value=b"v", headers=[]) for i in range(3)]
    data = PartitionProduceData(index=0, records=bytes(build_batch(records, **producer)))
    request = ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])
    return Exchange(f"produce: {name}", PRODUCE_REQUEST, lambda world, version: request, [9])


def directories(name: str, topics: dict[str, list[int]] | None) -> Exchange:
    asked = None if topics is None else [DescribableLogDirTopic(topic=t, partitions=p) for t, p in topics.items()]
    request = DescribeLogDirsRequest(topics=asked)
    return Exchange(f"log dirs: {name}", DESCRIBE_LOG_DIRS_REQUEST, lambda world, version: request, ignore=DIRECTORY)


def producers(name: str, *topics: tuple[str, list[int]]) -> Exchange:
    asked = [TopicRequest(name=topic, partition_indexes=indexes) for topic, indexes in topics]
    request = DescribeProducersRequest(topics=asked)
    return Exchange(f"producers: {name}", DESCRIBE_PRODUCERS_REQUEST, lambda world, version: request)


def update(name: str, *features: tuple[str, int], kind: int = 1, validate_only: bool = False) -> Exchange:
    def build(world: World, version: int) -> UpdateFeaturesRequest:
        kinds: dict[str, Any] = {"upgrade_type": kind} if version >= 1 else {"allow_downgrade": kind > 1}
        return UpdateFeaturesRequest(
            timeout_ms=5000,
            feature_updates=[
                FeatureUpdateKey(feature=feature, max_version_level=level, **kinds) for feature, level in features
            ],
            **({"validate_only": validate_only} if version >= 1 else {}),
        )

    versions = range(2) if kind in (1, 2) and not validate_only else [1]
    return Exchange(f"features: {name}", UPDATE_FEATURES_REQUEST, build, versions)


EXCHANGES = (
    Exchange(
        "topics",
        CREATE_TOPICS_REQUEST,
        lambda world, version: CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name="written",
                    num_partitions=2,
                    replication_factor=1,
                    # The records are old: on a slow machine retention would come before the last look at their size.
                    configs=[CreatableTopicConfig(name="retention.ms", value="-1")],
                ),
                CreatableTopic(name="empty", num_partitions=1, replication_factor=1),
            ],
            timeout_ms=20_000,
        ),
        [7],
    ),
    producers("of nobody", ("written", [0, 1])),
    produce("of nobody known", "written"),
    produce("of one", "written", producer_id=7, producer_epoch=2, base_sequence=0),
    produce("of another", "written", producer_id=9, producer_epoch=0, base_sequence=0),
    produce("of the first again", "written", producer_id=7, producer_epoch=2, base_sequence=3),
    producers("of two", ("written", [0])),
    producers("where there are none", ("empty", [0]), ("written", [1])),
    producers("unknown partition", ("written", [0, 9, -1])),
    producers("unknown topic", ("nowhere", [0, 1])),
    producers("bad name", ("no/where", [0]), ("", [0])),
    producers("nothing"),
    producers("no partitions", ("written", [])),
    directories("all", None),
    directories("some", {"written": [0], "empty": [0]}),
    directories("one of two partitions", {"written": [1]}),
    directories("unknown", {"nowhere": [0], "written": [0, 9]}),
    directories("nothing", {}),
    directories("no partitions", {"written": []}),
    update("nothing"),
    update("an upgrade", ("x", 1)),
    update("to check an upgrade", ("x", 1), validate_only=True),
    update("two", ("x", 1), ("y", 2)),
    update("no name", ("", 1)),
    update("a safe downgrade", ("x", 1), kind=2),
    update("an unsafe downgrade", ("x", 1), kind=3),
    update("a deletion", ("x", 0), kind=2),
    update("an unsafe deletion", ("x", 0), kind=3),
    update("an upgrade to nothing", ("x", 0)),
    update("an upgrade to less than nothing", ("x", -1)),
    update("an unknown kind", ("x", 1), kind=9),
    update("no kind", ("x", 1), kind=0),
    update("the metadata version", ("metadata.version", 1)),
    Exchange(
        "groups: a heartbeat of the new protocol",
        CONSUMER_GROUP_HEARTBEAT_REQUEST,
        lambda world, version: ConsumerGroupHeartbeatRequest(
            group_id="g", member_id="", member_epoch=0, rebalance_timeout_ms=5000, subscribed_topic_names=["written"]
        ),
    ),
    Exchange(
        "groups: describe those of the new protocol",
        CONSUMER_GROUP_DESCRIBE_REQUEST,
        lambda world, version: ConsumerGroupDescribeRequest(group_ids=["g", "h", "g"]),
    ),
    Exchange(
        "groups: describe none",
        CONSUMER_GROUP_DESCRIBE_REQUEST,
        lambda world, version: ConsumerGroupDescribeRequest(group_ids=[]),
    ),
    Exchange(
        "an envelope",
        ENVELOPE_REQUEST,
        lambda world, version: EnvelopeRequest(
            request_data=b"\0\x12\0\0\0\0\0\x01\xff\xff", request_principal=None, client_host_address=b"\x7f\0\0\1"
        ),
    ),
)
