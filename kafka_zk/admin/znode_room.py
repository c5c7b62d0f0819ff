"""How many partitions of a topic its znode holds.

Role        Pure: counts bytes, without building an assignment of millions of partitions to find out that none fits.
Invariants  What is refused here by its count alone would be refused by its size: the count is over the estimate by a
            tenth and more, and the estimate is exact where all broker ids have as many digits.
Differs from Kafka: it writes what ZooKeeper cannot take, and sends it again for ever.
Source      TopicZNode.encode: one JSON document, `"INDEX":[ID,ID,...]` a partition.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from kafka_zk.protocol.errors import InvalidPartitions
from kafka_zk.zk.znodes import PartitionReplicas, TopicAssignment, TopicZNode

QUOTES_COLON_BRACKETS_COMMA = 6
SLACK = 1.1
"""How far over the estimate a count must be to be refused without building its assignment."""


def partitions_that_fit(room_bytes: int, *, broker_ids: Sequence[int], replication_factor: int) -> int:
    """How many partitions, spread evenly over these brokers, a new topic's znode of so many bytes holds."""
    empty: Mapping[int, PartitionReplicas] = {}
    head = len(TopicZNode.encode(TopicAssignment(empty))) + len(',"topic_id":""') + 22
    id_bytes = sum(len(str(broker_id)) for broker_id in broker_ids) / max(1, len(broker_ids))
    entry = QUOTES_COLON_BRACKETS_COMMA + replication_factor * id_bytes + replication_factor - 1

    def is_too_many(count: int) -> bool:
        # The last one has no comma.
        return head + digits_of_indexes(count) + count * entry - 1 > room_bytes

    return max(0, bisect_left(range(max(0, room_bytes) + 1), True, key=is_too_many) - 1)


def digits_of_indexes(count: int) -> int:
    """How many digits the numbers from 0 to `count` - 1 have together."""
    total, power = count, 10
    while power < count:
        total += count - power
        power *= 10
    return total


def check_count(name: str, count: int, room_bytes: int, *, broker_ids: Sequence[int], replication_factor: int) -> None:
    """Raise InvalidPartitions when so many partitions cannot fit; takes microseconds, whatever the count."""
    if replication_factor <= 0 or not broker_ids:
        return
    fitting = partitions_that_fit(room_bytes, broker_ids=broker_ids, replication_factor=replication_factor)
    if count > fitting * SLACK + 1:
        raise _refusal(name, count, fitting, room_bytes)


def check_fits(name: str, assignment: TopicAssignment, room_bytes: int) -> None:
    """Raise InvalidPartitions when the topic's znode would be larger than `room_bytes`; no partition is moving."""
    empty: Mapping[int, PartitionReplicas] = {}
    size = len(TopicZNode.encode(TopicAssignment(empty, assignment.topic_id))) - 1
    for fitting, (index, partition) in enumerate(assignment.partitions.items()):
        replicas = partition.replicas
        size += len(str(index)) + QUOTES_COLON_BRACKETS_COMMA + sum(map(len, map(str, replicas))) + len(replicas) - 1
        if size > room_bytes:
            raise _refusal(name, len(assignment.partitions), fitting, room_bytes)


def _refusal(name: str, count: int, fitting: int, room_bytes: int) -> InvalidPartitions:
    return InvalidPartitions(
        f"Topic '{name}' cannot have {count} partitions: ZooKeeper stores a topic's assignment in one value of at "
        f"most {room_bytes} bytes (jute.maxbuffer), which holds {fitting} of them."
    )
