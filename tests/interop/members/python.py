"""Members with kafka-python, a thread each.

Its listener may not wait for a commit; it commits by itself before it gives partitions up, when told to commit at all.
"""

from __future__ import annotations

import sys
import threading

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from tests.interop.members.speech import Member, members_of, told_to_end

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
            bootstrap_servers=member.bootstrap,
            group_id=member.group,
            client_id=member.name,
            group_instance_id=member.instance,
            partition_assignment_strategy=[ASSIGNORS[member.assignor]],
            auto_offset_reset="earliest",
            enable_auto_commit=True,
            auto_commit_interval_ms=200,
            session_timeout_ms=member.session_timeout_ms,
            heartbeat_interval_ms=200,
            fetch_max_wait_ms=100,
        )

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        self.member.loses({each.partition for each in revoked})

    def on_partitions_lost(self, lost: set[TopicPartition]) -> None:
        self.member.loses({each.partition for each in lost})

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self.member.gains({each.partition for each in assigned})

    def live(self, told: threading.Event) -> None:
        self.consumer.subscribe([self.member.topic], listener=self)
        while not told.is_set():
            for where, records in self.consumer.poll(100).items():
                self.member.was_handed(where.partition, records[0].offset, records[-1].offset)
        self.consumer.close()
        self.member.say("left")


def main() -> None:
    told = told_to_end()
    threads = [threading.Thread(target=Living(member).live, args=(told,)) for member in members_of(sys.argv[1:])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
