"""Members with aiokafka, a task each."""

from __future__ import annotations

import asyncio
import signal
import sys

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, OffsetAndMetadata, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError

from tests.interop.members.speech import Member, members_of, settings_of

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


class Living(ConsumerRebalanceListener):
    """One member from its start to its end."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.consumer = AIOKafkaConsumer(
            **settings_of(member),
            partition_assignment_strategy=[ASSIGNORS[member.assignor]],
            enable_auto_commit=False,
        )

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        taken = {each.partition for each in revoked}
        await self._commit(taken)
        self.member.loses(taken)

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self.member.gains({each.partition for each in assigned})

    async def live(self, told: asyncio.Event) -> None:
        self.consumer.subscribe([self.member.topic], listener=self)
        await self.consumer.start()
        while not told.is_set():
            batch = await self.consumer.getmany(timeout_ms=100)
            for where, records in batch.items():
                self.member.was_handed(where.partition, records[0].offset, records[-1].offset)
        await self._commit(set(self.member.owned))
        await self.consumer.stop()
        self.member.say("left")

    async def _commit(self, partitions: set[int]) -> None:
        member = self.member
        ends = {
            TopicPartition(member.topic, partition): OffsetAndMetadata(member.positions[partition], member.name)
            for partition in partitions & member.positions.keys()
        }
        if ends:
            try:
                await self.consumer.commit(ends)
            except KafkaError as refused:
                member.say("refused", type(refused).__name__)


async def main() -> None:
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    await asyncio.gather(*(Living(member).live(told) for member in members_of(sys.argv[1:])))


if __name__ == "__main__":
    asyncio.run(main())
