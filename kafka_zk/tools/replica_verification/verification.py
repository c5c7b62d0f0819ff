"""Whether the replicas of partitions have the same batches, round by round.

Role        Pure: gets what each replica sent, returns what is printed.
Invariants  Compared up to the high watermark that each replica knows. Where a replica has sent less, the next round
            goes on from there.
Source      ReplicaVerificationTool.ReplicaBuffer.verifyCheckSum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kafka_zk.client.admin.replica_fetching import Fetched
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import Batch, batches
from kafka_zk.tools.common.java_output import hash_order_by, partition_order

_CRC = 0xFFFFFFFF


class Mismatch(Exception):
    """Two replicas have batches that end at different offsets: nothing behind them can be compared."""


@dataclass(slots=True)
class Verification:
    """`offsets` is where each partition is verified up to. `lines` are those of the round, without their time."""

    offsets: dict[TopicPartition, int]
    lines: list[str] = field(default_factory=list)
    max_lag: int = -1
    lagging: TopicPartition | None = None
    offset_with_max_lag: int = -1

    def round(self, fetched: Mapping[TopicPartition, Mapping[int, Fetched]]) -> None:
        """Compare what the replicas of each partition sent, by broker. Raises Mismatch."""
        self.lines, self.max_lag = [], -1
        for partition in partition_order(fetched):
            by_broker = fetched[partition]
            self._compare(partition, by_broker)
            lag = max(each.high_watermark for each in by_broker.values()) - self.offsets[partition]
            if lag > self.max_lag:
                self.max_lag, self.lagging, self.offset_with_max_lag = lag, partition, self.offsets[partition]

    def _compare(self, partition: TopicPartition, by_broker: Mapping[int, Fetched]) -> None:
        order = hash_order_by(by_broker, lambda number: number & 0xFFFFFFFF)
        iterators: dict[int, Iterator[Batch]] = {each: batches(by_broker[each].records) for each in order}
        while True:
            first: tuple[int, Batch] | None = None
            in_all = True
            for broker_id in order:
                batch = next(iterators[broker_id], None)
                if batch is None or batch.header.last_offset >= by_broker[broker_id].high_watermark:
                    in_all = False
                elif first is None:
                    first = broker_id, batch
                else:
                    self._compare_two(partition, first, (broker_id, batch))
            if not in_all or first is None:
                return
            self.offsets[partition] = first[1].header.next_offset

    def _compare_two(self, partition: TopicPartition, one: tuple[int, Batch], other: tuple[int, Batch]) -> None:
        (first, header), (second, another) = (one[0], one[1].header), (other[0], other[1].header)
        if header.last_offset != another.last_offset:
            self.lines.append(
                f"partition {partition}: replica {first}'s offset {header.last_offset} doesn't match replica "
                f"{second}'s offset {another.last_offset}"
            )
            raise Mismatch
        if header.crc != another.crc:
            self.lines.append(
                f"partition {partition} has unmatched checksum at offset {another.last_offset}; replica {first}'s "
                f"checksum {header.crc & _CRC}; replica {second}'s checksum {another.crc & _CRC}"
            )

    def report(self) -> str:
        """How far the verification is behind."""
        return (
            f"max lag is {self.max_lag} for partition {self.lagging} at offset {self.offset_with_max_lag} "
            f"among {len(self.offsets)} partitions"
        )
