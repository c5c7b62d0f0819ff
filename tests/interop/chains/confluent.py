"""A link of a chain with librdkafka (confluent-kafka)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tests.interop.chains.link import (
    FENCED,
    MOST_RECORDS,
    SESSION_MS,
    TRANSACTION_MS,
    Link,
    Whims,
    from_arguments,
    told_to_end,
    transformed,
    wait_at_the_gate,
)

ANSWER_S = 5
ATTEMPTS = 3
SHARED = {"broker.address.family": "v4", "log_level": 3, "reconnect.backoff.max.ms": 500}


def run(link: Link, told: threading.Event) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": link.bootstrap,
            "group.id": link.group,
            "client.id": link.transactional_id,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": 300,
            "fetch.wait.max.ms": 100,
            **SHARED,
        }
    )
    producer = Producer(
        {
            "bootstrap.servers": link.bootstrap,
            "transactional.id": link.transactional_id,
            "transaction.timeout.ms": TRANSACTION_MS,
            **SHARED,
        }
    )
    retried(lambda: producer.init_transactions(ANSWER_S))
    consumer.subscribe([link.source])
    whims = Whims()
    while not told.is_set():
        messages = [message for message in consumer.consume(MOST_RECORDS, 0.2) if message.error() is None]
        if messages and not carried(link, consumer, producer, messages, aborts=whims.aborts()):
            rewind(consumer)
    with bounded(0):
        consumer.close()


def carried(link: Link, consumer: Consumer, producer: Producer, messages: list[Message], *, aborts: bool) -> bool:
    """Whether the transaction was committed. Raises KafkaException where nothing can be done but begin anew."""
    producer.begin_transaction()
    try:
        for message in messages:
            producer.produce(link.sink, transformed(message.value()), partition=message.partition())
        ends = {message.partition(): message.offset() + 1 for message in messages}
        offsets = [TopicPartition(link.source, partition, offset) for partition, offset in ends.items()]
        metadata = consumer.consumer_group_metadata()
        with bounded():
            retried(lambda: producer.send_offsets_to_transaction(offsets, metadata, ANSWER_S))
        wait_at_the_gate(link, producer.flush)
        if not aborts:
            retried(lambda: producer.commit_transaction(ANSWER_S))
            return True
    except KafkaException as error:
        if not error.args[0].txn_requires_abort():
            raise
    retried(lambda: producer.abort_transaction(ANSWER_S))
    return False


def retried(call: Callable[[], object]) -> None:
    """As long as librdkafka says that it may help; a link that waits too long begins anew."""
    for attempt in range(ATTEMPTS):
        try:
            call()
            return
        except KafkaException as error:
            if not error.args[0].retriable() or attempt == ATTEMPTS - 1:
                raise


@contextmanager
def bounded(exit_code: int = FENCED) -> Iterator[None]:
    """Ends the program when librdkafka 2.16 has long overrun its own timeouts.

    It waits for ever for a group's coordinator that it knew, and that metadata named no more while its broker was down
    (its issues 5511 and 5456). The end of a consumer has no timeout at all: its LeaveGroup, commits and revocations
    wait for a coordinator as long as there is none (issue 3740). Who is told to end has nothing left to do by then:
    what it carried is committed or aborted, and its place in the group ends with its session.
    """
    overrun = threading.Timer(2 * ATTEMPTS * ANSWER_S, os._exit, [exit_code])
    overrun.start()
    try:
        yield
    finally:
        overrun.cancel()


def rewind(consumer: Consumer) -> None:
    """To what is committed, of what it owns now."""
    owned = consumer.assignment()
    while owned:
        try:
            found = consumer.committed(owned, ANSWER_S)
            break
        except KafkaException:  # Between two coordinators.
            owned = consumer.assignment()
    else:
        return
    for each in found:
        try:
            consumer.seek(TopicPartition(each.topic, each.partition, max(each.offset, 0)))
        except KafkaException as error:
            if error.args[0].code() != KafkaError._STATE:  # It is not ours any more.
                raise


if __name__ == "__main__":
    try:
        run(from_arguments(), told_to_end())
    except KafkaException as fenced:
        print(fenced, flush=True)
        # Its clients go with it: to part from them may wait for a coordinator, too.
        os._exit(FENCED)
