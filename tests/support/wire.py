"""What a client asks of a broker, one call a request, through a `RawClient`: create, produce, fetch, look up.

Every answer is returned as it came: what a test expects, also an error, is for the test to say.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages import create_topics, delete_topics, fetch, list_offsets, metadata, produce
from kafka_zk.record.batch import batches
from kafka_zk.record.builder import build_batch
from kafka_zk.record.record import Record, decode_records
from tests.support.processes import POLL_S
from tests.support.raw_client import RawClient

ONE_MEGABYTE = 1 << 20
ANSWER_MS = 10_000

BETWEEN_TERMS = frozenset({ErrorCode.NOT_CONTROLLER, ErrorCode.STALE_CONTROLLER_EPOCH})
"""What a broker answers between two controllers, Apache's like ours; every client asks again."""


def create_topic(client: RawClient, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
    """Make a topic that must be made, and wait until it can be used."""
    wait_for_brokers(client)
    deadline = time.monotonic() + ANSWER_MS / 1000
    code, message = try_create_topic(client, topic, partitions, configs)
    while code in BETWEEN_TERMS and time.monotonic() < deadline:
        time.sleep(POLL_S)
        code, message = try_create_topic(client, topic, partitions, configs)
    assert code is ErrorCode.NONE, f"{code!r}: {message}"
    wait_for_topic(client, topic)


def wait_for_brokers(client: RawClient, count: int = 1, timeout_s: float = 30) -> None:
    """Until the controller has told the broker who is there: it serves a moment earlier, as Apache's does."""
    request = metadata.MetadataRequest(topics=[])
    deadline = time.monotonic() + timeout_s
    while len(client.send(metadata.METADATA_REQUEST, request, 9).brokers) < count:
        assert time.monotonic() < deadline, f"fewer than {count} brokers after {timeout_s} s"
        time.sleep(POLL_S)


def try_create_topic(
    client: RawClient, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None
) -> tuple[ErrorCode, str | None]:
    """The error code and message of one creation."""
    wanted = create_topics.CreatableTopic(
        name=topic,
        num_partitions=partitions,
        replication_factor=1,
        configs=[create_topics.CreatableTopicConfig(name=name, value=value) for name, value in (configs or {}).items()],
    )
    request = create_topics.CreateTopicsRequest(topics=[wanted], timeout_ms=ANSWER_MS)
    result = client.send(create_topics.CREATE_TOPICS_REQUEST, request, 5).topics[0]
    return ErrorCode(result.error_code), result.error_message


def delete_topic(client: RawClient, topic: str) -> ErrorCode:
    request = delete_topics.DeleteTopicsRequest(topic_names=[topic], timeout_ms=ANSWER_MS)
    answer = client.send(delete_topics.DELETE_TOPICS_REQUEST, request, 3)
    return ErrorCode(answer.responses[0].error_code)


def topic_error(client: RawClient, topic: str) -> ErrorCode:
    """What Metadata says of a topic, without creating it."""
    request = metadata.MetadataRequest(
        topics=[metadata.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
    )
    found = client.send(metadata.METADATA_REQUEST, request, 9).topics[0]
    if found.error_code:
        return ErrorCode(found.error_code)
    return ErrorCode(max((partition.error_code for partition in found.partitions), default=0))


def wait_for_topic(client: RawClient, topic: str, expected: ErrorCode = ErrorCode.NONE, timeout_s: float = 30) -> None:
    """Until Metadata answers `expected` for the topic."""
    deadline = time.monotonic() + timeout_s
    while (found := topic_error(client, topic)) is not expected:
        assert time.monotonic() < deadline, f"{topic} is still {found!r} after {timeout_s} s"
        time.sleep(POLL_S)


def produce_request(
    topic: str, values: Sequence[bytes], *, partition: int = 0, acks: int = 1, timestamp: int | None = None
) -> produce.ProduceRequest:
    now_ms = int(time.time() * 1000) if timestamp is None else timestamp
    records = [Record(offset, now_ms, None, value, []) for offset, value in enumerate(values)]
    data = produce.PartitionProduceData(index=partition, records=build_batch(records))
    topic_data = produce.TopicProduceData(name=topic, partition_data=[data])
    return produce.ProduceRequest(acks=acks, timeout_ms=ANSWER_MS, topic_data=[topic_data])


def try_produce(
    client: RawClient,
    topic: str,
    values: Sequence[bytes],
    *,
    partition: int = 0,
    acks: int = 1,
    timestamp: int | None = None,
) -> tuple[ErrorCode, int]:
    """The error code and the base offset of one batch."""
    request = produce_request(topic, values, partition=partition, acks=acks, timestamp=timestamp)
    answer = client.send(produce.PRODUCE_REQUEST, request, 9)
    result = answer.responses[0].partition_responses[0]
    return ErrorCode(result.error_code), result.base_offset


def write(
    client: RawClient,
    topic: str,
    values: Sequence[bytes],
    *,
    partition: int = 0,
    acks: int = 1,
    timestamp: int | None = None,
) -> int:
    """The base offset of one batch that must succeed."""
    code, base_offset = try_produce(client, topic, values, partition=partition, acks=acks, timestamp=timestamp)
    assert code is ErrorCode.NONE, code
    return base_offset


def fetch_request(
    topic: str,
    offset: int,
    *,
    partition: int = 0,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = ONE_MEGABYTE,
) -> fetch.FetchRequest:
    wanted = fetch.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes)
    return fetch.FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_epoch=-1,
        topics=[fetch.FetchTopic(topic=topic, partitions=[wanted])],
    )


def fetched(answer: fetch.FetchResponse) -> tuple[ErrorCode, list[Record]]:
    """The error code and the records of a fetch of one partition."""
    result = answer.responses[0].partitions[0]
    found = [record for batch in batches(result.records or b"") for record in decode_records(batch)]
    return ErrorCode(result.error_code), found


def try_fetch(client: RawClient, topic: str, offset: int, *, partition: int = 0) -> tuple[ErrorCode, list[Record]]:
    return fetched(client.send(fetch.FETCH_REQUEST, fetch_request(topic, offset, partition=partition), 11))


def read(client: RawClient, topic: str, *, partition: int = 0) -> Iterator[Record]:
    """All records of a partition, from its start to its high watermark."""
    offset = offset_at(client, topic, list_offsets_timestamp=-2, partition=partition)
    while True:
        code, records = try_fetch(client, topic, offset, partition=partition)
        assert code is ErrorCode.NONE, code
        wanted = [record for record in records if record.offset >= offset]
        if not wanted:
            return
        yield from wanted
        offset = wanted[-1].offset + 1


def offset_at(client: RawClient, topic: str, *, list_offsets_timestamp: int, partition: int = 0) -> int:
    """ListOffsets: the offset for a timestamp; -2 is the start of the log, -1 its high watermark."""
    wanted = list_offsets.ListOffsetsPartition(partition_index=partition, timestamp=list_offsets_timestamp)
    request = list_offsets.ListOffsetsRequest(topics=[list_offsets.ListOffsetsTopic(name=topic, partitions=[wanted])])
    found = client.send(list_offsets.LIST_OFFSETS_REQUEST, request, 4).topics[0].partitions[0]
    assert found.error_code == 0, ErrorCode(found.error_code)
    return int(found.offset)
