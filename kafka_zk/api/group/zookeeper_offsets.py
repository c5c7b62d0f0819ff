"""Offsets in ZooKeeper, where consumers kept them before 0.9: version 0 of OffsetCommit and OffsetFetch.

Source      KafkaApis.commitOffsetsToZookeeper, handleOffsetFetchRequestFromZookeeper; KafkaZkClient.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_zk.api.request_context import RequestContext
from kafka_zk.protocol.errors import BrokerError, ErrorCode, UnknownServerError
from kafka_zk.protocol.messages.offset_commit import OffsetCommitRequestPartition
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.errors import NoNode
from kafka_zk.zk.znodes.consumers import ConsumerOffsetZNode


def commit(
    group_id: str, offsets: Mapping[TopicPartition, OffsetCommitRequestPartition], ctx: RequestContext
) -> dict[TopicPartition, ErrorCode]:
    """Blocks. Returns a code for each partition."""
    return {partition: _commit_one(group_id, partition, wanted, ctx) for partition, wanted in offsets.items()}


def _commit_one(
    group_id: str, partition: TopicPartition, wanted: OffsetCommitRequestPartition, ctx: RequestContext
) -> ErrorCode:
    if not group_id:
        return ErrorCode.UNKNOWN_SERVER_ERROR  # No znode has an empty name.
    if len(wanted.committed_metadata or "") > ctx.services.config.offset_metadata_max_bytes:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    path = ConsumerOffsetZNode.path(group_id, partition)
    data = ConsumerOffsetZNode.encode(wanted.committed_offset)
    zk = ctx.services.zk
    try:
        try:
            zk.set(path, data)
        except NoNode:
            zk.create(path, data, make_parents=True)
    except BrokerError as error:
        return error.code
    return ErrorCode.NONE


def fetch(group_id: str, partition: TopicPartition, ctx: RequestContext) -> int | None:
    """Blocks. Returns the offset, None if there is none. Raises ZooKeeper's errors."""
    if not group_id:
        raise UnknownServerError("a znode's name must not be empty")
    try:
        data, stat = ctx.services.zk.get(ConsumerOffsetZNode.path(group_id, partition))
    except NoNode:
        return None
    return ConsumerOffsetZNode.decode(data, stat)
