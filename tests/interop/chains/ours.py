"""A link of a chain with our client."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from kafka_zk.client import KafkaConsumer, KafkaProducer
from kafka_zk.client.consumer.records import ConsumerRecords, OffsetAndMetadata
from kafka_zk.client.errors import KafkaException, TimeoutException
from kafka_zk.protocol.errors import BrokerError
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

BYTES = "ByteArray"


def run(link: Link, told: threading.Event) -> None:
    reading = {
        "bootstrap.servers": link.bootstrap,
        "group.id": link.group,
        "client.id": link.transactional_id,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": SESSION_MS,
        "heartbeat.interval.ms": 300,
        "fetch.max.wait.ms": 100,
        "max.poll.records": MOST_RECORDS,
        "key.deserializer": f"{BYTES}Deserializer",
        "value.deserializer": f"{BYTES}Deserializer",
    }
    writing = {
        "bootstrap.servers": link.bootstrap,
        "transactional.id": link.transactional_id,
        "transaction.timeout.ms": TRANSACTION_MS,
        "reconnect.backoff.max.ms": 500,
        "key.serializer": f"{BYTES}Serializer",
        "value.serializer": f"{BYTES}Serializer",
    }
    with KafkaConsumer(reading) as consumer, KafkaProducer(writing) as producer:
        patiently(producer.init_transactions)
        consumer.subscribe([link.source])
        whims = Whims()
        while not told.is_set():
            polled = consumer.poll(0.2)
            if polled and not carried(link, consumer, producer, polled, aborts=whims.aborts()):
                for partition, committed in consumer.committed(consumer.assignment()).items():
                    consumer.seek(partition, committed or 0)


def carried(
    link: Link, consumer: KafkaConsumer, producer: KafkaProducer, polled: ConsumerRecords, *, aborts: bool
) -> bool:
    """Whether the transaction was committed. Raises KafkaException where nothing can be done but begin anew."""
    producer.begin_transaction()
    try:
        for record in polled:
            assert isinstance(record.value, bytes)
            producer.send(link.sink, transformed(record.value), partition=record.partition)
        ends = {each: OffsetAndMetadata(polled.of(each)[-1].offset + 1) for each in polled.partitions}
        producer.send_offsets_to_transaction(ends, consumer.group_metadata())
        wait_at_the_gate(link, producer.flush)
        if not aborts:
            patiently(producer.commit_transaction)
            return True
    except (KafkaException, BrokerError) as error:
        print(f"aborts: {error!r}", flush=True)
    patiently(producer.abort_transaction)
    return False


def patiently(call: Callable[[], None]) -> None:
    """It may be made again when its time is over."""
    while True:
        try:
            call()
            return
        except TimeoutException:
            pass


if __name__ == "__main__":
    try:
        run(from_arguments(), told_to_end())
    except (KafkaException, BrokerError) as fenced:
        print(repr(fenced), flush=True)
        sys.exit(FENCED)
