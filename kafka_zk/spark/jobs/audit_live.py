"""Audits the replicas of a live cluster: fetches every replica from its own broker and compares them.

Role        Lists on the driver, fetches in workers; clients are made there.
Rule        A consumer may fetch from a follower (Fetch from version 11 on, KIP-392), up to its high watermark.
            Batches come as they lie on the disk, so their CRCs are checked and compared without decoding a record.
            Every replica must have what was committed when the audit began; a follower learns of it later, so
            each is given time to get there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.client.admin.cluster import Cluster
from kafka_zk.client.admin.offset_listing import ListedOffset, OffsetSpec
from kafka_zk.client.config import ClientConfig
from kafka_zk.client.errors import KafkaException
from kafka_zk.client.range_reading.fetching import partition_of
from kafka_zk.config.tables.admin import ADMIN_KEYS
from kafka_zk.protocol.errors import BrokerError, ErrorCode, error_class_for
from kafka_zk.protocol.messages import fetch, list_offsets
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import batches, computed_crc
from kafka_zk.spark.client_secrets import resolved
from kafka_zk.spark.jobs.audit_findings import (
    DIGESTS,
    ERROR,
    SCHEMA,
    DigestRow,
    Row,
    divergence,
    replica_ranges,
    replica_row,
)
from kafka_zk.spark.jobs.cluster import cluster_properties
from kafka_zk.spark.jobs.outcome import JobError
from kafka_zk.spark.jobs.replica_comparison import UNKNOWN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafka_zk.spark.settings.declaration import Settings

FETCH_BYTES = 8 * 1024 * 1024
FIRST_FOR_FOLLOWERS = 11
FETCH_WAIT_MS = 500
ANY_REPLICA = -2
"""A replica id by which a broker answers of its own log, also where it does not lead (DEBUGGING_REPLICA_ID)."""
PATIENCE_S = 15.0
"""How long a replica may make no progress below the committed offset before it counts as lagging."""


class Replica(NamedTuple):
    """One replica to fetch, of a partition that is `compacted` or not; all below `committed` was committed before,
    -1 if no leader answered."""

    topic_partition: TopicPartition
    topic_id: UUID
    broker_id: int
    compacted: bool
    committed: int


@dataclass(slots=True)
class Extent:
    """The extent of a replica as seen: from `start` to before `end`."""

    start: int = 0
    end: int = 0


def audit_live(session: SparkSession, settings: Settings) -> tuple[DataFrame, DataFrame]:
    """Findings, and one row a replica. Raises JobError."""
    if not settings.has("bootstrap-server"):
        raise JobError("auditing a live cluster requires bootstrap-server")
    properties = cluster_properties(settings.text("bootstrap-server"), settings.mapping("kafka"))
    replicas = plan(properties, settings.texts("topics"))
    if not replicas:
        raise JobError("the cluster has none of these topics")
    spread = session.sparkContext.parallelize(replicas, len(replicas))
    fetched = spread.map(lambda replica: fetched_replica(properties, replica)).cache()
    found = session.createDataFrame(fetched.flatMap(lambda both: both[0]), SCHEMA)
    digests = session.createDataFrame(fetched.flatMap(lambda both: both[1]), DIGESTS).cache()
    return found.unionByName(divergence(digests)), replica_ranges(digests)


def plan(properties: Mapping[str, str], topics: list[str]) -> list[Replica]:
    """Every replica of the topics, of all that are not internal when none are named."""
    from kafka_zk.client.admin.admin_results import ConfigResource, ResourceType

    with AdminClient(resolved(properties)) as admin:
        names = topics or sorted(listing.name for listing in admin.list_topics())
        described = admin.describe_topics(names)
        configs = admin.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in names])
        partitions = [
            TopicPartition(name, info.partition) for name, topic in described.items() for info in topic.partitions
        ]
        committed = {
            each: answer.offset
            for each, answer in admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST)).items()
            if isinstance(answer, ListedOffset)
        }
    policies = {
        resource.name: next((entry.value or "" for entry in entries if entry.name == "cleanup.policy"), "")
        for resource, entries in configs.items()
    }
    return [
        Replica(
            TopicPartition(name, info.partition),
            topic.topic_id,
            broker,
            "compact" in policies[name],
            committed.get(TopicPartition(name, info.partition), UNKNOWN),
        )
        for name, topic in described.items()
        for info in topic.partitions
        for broker in info.replicas
    ]


def fetched_replica(properties: Mapping[str, str], replica: Replica) -> tuple[list[Row], list[DigestRow]]:
    """In a worker: findings about one replica, and its batches; then, if it was fetched to its end, itself."""
    place = f"broker {replica.broker_id}"
    rows: list[Row] = []
    digests: list[DigestRow] = []
    extent = Extent()
    topic, partition = replica.topic_partition
    try:
        for data in _fetch_all(properties, replica, extent):
            for batch in batches(data):
                header = batch.header
                last = header.last_offset
                if header.crc != computed_crc(batch.buffer, batch.position, header):
                    rows.append((ERROR, "bad-crc", topic, partition, place, header.base_offset, last, "wrong checksum"))
                digests.append(
                    (
                        topic,
                        partition,
                        place,
                        header.base_offset,
                        last,
                        header.crc,
                        header.partition_leader_epoch,
                        replica.compacted,
                        None,
                    )
                )
        committed = None if replica.committed == UNKNOWN else replica.committed
        digests.append(
            replica_row(
                replica.topic_partition,
                place,
                extent.start,
                extent.end,
                compacted=replica.compacted,
                committed=committed,
            )
        )
    except (BrokerError, KafkaException) as error:
        rows.append((ERROR, "not-served", topic, partition, place, None, None, f"{type(error).__name__}: {error}"))
    return rows, digests


def _fetch_all(properties: Mapping[str, str], replica: Replica, extent: Extent) -> Iterator[memoryview]:
    """The replica's bytes from its log start to its high watermark, whole batches each time; `extent` follows."""
    config = ClientConfig(ADMIN_KEYS, resolved(properties))
    cluster = Cluster(config, client_id="kafka_zk-audit", log_prefix="audit")
    calls, last_progress_s = Calls(cluster, config), time.monotonic()
    try:
        while True:
            answer = calls.to_node(replica.broker_id, _call(replica, extent.end))
            found = partition_of(answer)
            if found is None:
                continue  # The broker lets a client wait that is above its quota; its next answer waits, too.
            if found.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                # The response does not contain the log's offsets.
                log_start_offset = _log_start(calls, replica)
                if log_start_offset > extent.end:
                    extent.start = extent.end = log_start_offset
                    continue
            if found.error_code != ErrorCode.NONE:
                raise error_class_for(ErrorCode(found.error_code))
            assert found.records is None or isinstance(found.records, (bytes, bytearray, memoryview)), (
                "an answer holds bytes"
            )
            data = memoryview(found.records or b"")
            next_offset = extent.end
            for batch in batches(data):
                next_offset = batch.header.next_offset
            if next_offset > extent.end:
                extent.end, last_progress_s = next_offset, time.monotonic()
                yield data
            elif extent.end >= replica.committed or time.monotonic() - last_progress_s > PATIENCE_S:
                return
    finally:
        cluster.close()


def _log_start(calls: Calls, replica: Replica) -> int:
    """Blocks. Where the replica's log begins. Raises BrokerError, KafkaException."""
    topic, partition = replica.topic_partition
    earliest = list_offsets.ListOffsetsPartition(partition_index=partition, timestamp=OffsetSpec.EARLIEST)
    wanted = list_offsets.ListOffsetsTopic(name=topic, partitions=[earliest])

    def build(_: int) -> list_offsets.ListOffsetsRequest:
        return list_offsets.ListOffsetsRequest(replica_id=ANY_REPLICA, topics=[wanted])

    request, response = list_offsets.LIST_OFFSETS_REQUEST, list_offsets.LIST_OFFSETS_RESPONSE
    answer = calls.to_node(replica.broker_id, Call("listOffsets", request, response, build))
    for answered in answer.topics:
        for found in answered.partitions:
            raise_for(found.error_code, None)
            return found.offset
    raise KafkaException("the broker's response does not contain the partition")


def _call(replica: Replica, offset: int) -> Call[fetch.FetchRequest, fetch.FetchResponse]:
    def build(version: int) -> fetch.FetchRequest:
        if version < FIRST_FOR_FOLLOWERS:
            raise JobError(f"broker {replica.broker_id} is too old to serve replica data")
        by_id = version >= 13
        topic, partition = replica.topic_partition
        wanted = fetch.FetchPartition(
            partition=partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES, log_start_offset=-1
        )
        one = (
            fetch.FetchTopic(topic_id=replica.topic_id, partitions=[wanted])
            if by_id
            else fetch.FetchTopic(topic=topic, partitions=[wanted])
        )
        return fetch.FetchRequest(
            replica_id=-1,
            max_wait_ms=FETCH_WAIT_MS if offset < replica.committed else 0,
            min_bytes=1,
            max_bytes=FETCH_BYTES,
            session_epoch=-1,
            topics=[one],
        )

    def check(answer: fetch.FetchResponse) -> None:
        if answer.error_code != ErrorCode.NONE:
            raise error_class_for(ErrorCode(answer.error_code))

    return Call("fetch", fetch.FETCH_REQUEST, fetch.FETCH_RESPONSE, build, check)
