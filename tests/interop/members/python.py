"""Members with kafka-python, a thread each.

Its listener may not wait for a commit; it commits by itself before it gives partitions up, when told to commit at all.
"""

from __future__ import annotations

import threading

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from tests.interop.members.speech import Member, live_in_threads, settings_of

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


class Living(ConsumerRebalanceListener):
    """One member from its start to its end."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.consumer = KafkaConsumer(
            **settings_of(member),
            partition_assignment_strategy=[ASSIGNORS[member.assignor]],
            enable_auto_commit=True,
            auto_commit_interval_ms=200,
        )

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        self.member.loses({each.partition for each in revoked})

    def on_partitions_lost(self, lost: set[TopicPartition]) -> None:
        self.member.loses({each.partition for each in lost})

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self.member.gains({each.partition for each in assigned})

    def live(self, told: threading.Event) -> None:
        self.consumer.subscribe([self.member.topic], listener=self)
        # Before it joins: a leader that hears of the partitions later joins once more because of them. When it has
        # divided them and a poll is over before the answer, kafka-python 3.0 forgets that join and is idle for ever.
        while not self.consumer.partitions_for_topic(self.member.topic):
            pass
        while not told.is_set():
            for where, records in self.consumer.poll(100).items():
                self.member.was_handed(where.partition, records[0].offset, records[-1].offset)
        self.consumer.close()
        self.member.say("left")


if __name__ == "__main__":
    live_in_threads(lambda member, told: Living(member).live(told))
