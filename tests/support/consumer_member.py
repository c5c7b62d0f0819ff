"""A member of a group in a process of its own, to be killed: says what it reads and what it has committed.

Arguments: bootstrap, topic, group.
"""

from __future__ import annotations

import sys

from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from tests.support.our_consumer import settings


def main() -> None:
    bootstrap, topic, group = sys.argv[1:]
    member = KafkaConsumer(settings(bootstrap, group_id=group, max_poll_records=3, session_timeout_ms=1500))
    member.subscribe([topic])
    while True:
        records = member.poll(1)
        for record in records:
            print("read", record.partition, record.offset, flush=True)
        if records:
            member.commit_sync()
            for partition in records.partitions:
                print("committed", partition.partition, records.of(partition)[-1].offset + 1, flush=True)


if __name__ == "__main__":
    main()
