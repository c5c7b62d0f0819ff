"""A program of the kind that transactions are for: it reads a topic in a group and writes another, exactly once.

    python -m tests.support.transactional_copy BOOTSTRAP SOURCE TARGET NAME

Each poll becomes one transaction, the offsets included. NAME is its transactional.id. It ends when it is killed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn

from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.consumer.records import ConsumerRecords, OffsetAndMetadata
from kafka_zk.client.errors import CommitFailed, KafkaException, TimeoutException
from kafka_zk.client.producer.kafka_producer import KafkaProducer

GROUP = "transactional-copy"


def main(bootstrap: str, source: str, target: str, name: str) -> NoReturn:
    reading = {
        "bootstrap.servers": bootstrap,
        "group.id": f"{GROUP}-{source}",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "max.poll.records": 7,
        "session.timeout.ms": 1500,
        "heartbeat.interval.ms": 200,
        "key.deserializer": "ByteArrayDeserializer",
        "value.deserializer": "ByteArrayDeserializer",
    }
    writing = {
        "bootstrap.servers": bootstrap,
        "transactional.id": name,
        "key.serializer": "ByteArraySerializer",
        "value.serializer": "ByteArraySerializer",
    }
    with KafkaConsumer(reading) as consumer, KafkaProducer(writing) as producer:
        producer.init_transactions()
        consumer.subscribe([source])
        while True:
            records = consumer.poll(1)
            if records:
                _copy(consumer, producer, records, target)


def _copy(consumer: KafkaConsumer, producer: KafkaProducer, records: ConsumerRecords, target: str) -> None:
    producer.begin_transaction()
    for record in records:
        producer.send(target, record.value, record.key, partition=record.partition)
    offsets = {each: OffsetAndMetadata(records.of(each)[-1].offset + 1) for each in records.partitions}
    try:
        producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
        _patiently(producer.commit_transaction)
    except CommitFailed:
        # Another member may have these partitions now. Whoever does begins where the last transaction ended.
        _patiently(producer.abort_transaction)
        for partition, committed in consumer.committed(consumer.assignment()).items():
            consumer.seek(partition, committed or 0)


def _patiently(call: Callable[[], None]) -> None:
    while True:
        try:
            call()
            return
        except TimeoutException:
            continue


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KafkaException as error:
        sys.exit(f"{type(error).__name__}: {error}")
