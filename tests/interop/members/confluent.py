"""Members with librdkafka (confluent-kafka), a thread each."""

from __future__ import annotations

import threading

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.interop.members.speech import Member, live_in_threads


def live(member: Member, told: threading.Event) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": member.bootstrap,
            "broker.address.family": "v4",
            "log_level": 3,
            "group.id": member.group,
            "client.id": member.name,
            "partition.assignment.strategy": member.assignor,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": member.session_timeout_ms,
            "heartbeat.interval.ms": 200,
            "fetch.wait.max.ms": 100,
            "reconnect.backoff.max.ms": 500,
            **({"group.instance.id": member.instance} if member.instance else {}),
        }
    )

    def commit(partitions: set[int], asynchronous: bool) -> None:
        ends = [
            TopicPartition(member.topic, partition, member.positions[partition], metadata=member.name)
            for partition in partitions & member.positions.keys()
        ]
        if ends:
            try:
                consumer.commit(offsets=ends, asynchronous=asynchronous)
            except KafkaException as refused:
                member.say("refused", refused.args[0].name())

    def revoked(_: Consumer, partitions: list[TopicPartition]) -> None:
        taken = {each.partition for each in partitions}
        commit(taken, asynchronous=False)
        member.loses(taken)

    consumer.subscribe(
        [member.topic],
        on_assign=lambda _, partitions: member.gains({each.partition for each in partitions}),
        on_revoke=revoked,
        on_lost=lambda _, partitions: member.loses({each.partition for each in partitions}),
    )
    while not told.is_set():
        # One at a time: of a batch, some might be of partitions that are taken away while it is gathered.
        message = consumer.poll(0.1)
        if message is None:
            commit(member.owned, asynchronous=True)
        elif message.error() is None:
            member.was_handed(message.partition(), message.offset(), message.offset())
    commit(member.owned, asynchronous=False)
    member.positions.clear()
    # Its partitions are taken from it while its client is whole. A close that meets a rebalance ends the client's side
    # of the group first and calls `revoked` then: there, librdkafka 2.16 waits for that side for ever.
    consumer.unsubscribe()
    while consumer.poll(0.1) is not None or member.owned:
        pass
    consumer.close()
    member.say("left")


if __name__ == "__main__":
    live_in_threads(live)
