"""A link of a chain with kafka-python."""

from __future__ import annotations

import sys
import threading

from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError
from kafka.net.compat import KafkaNetClient

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


class ClientOfProducer(KafkaNetClient):
    """Tells a producer that a broker is not ready, where kafka-python 3.0.12 raises.

    Its Sender takes that for a request that was sent, and forgets it: whoever waits for send_offsets_to_transaction()
    waits for ever, and heartbeats in the background hold its place in the group. It is so on Apache's brokers, too,
    when the coordinator is killed while nothing is on its way to it.
    """

    def await_ready(self, node_id: int | str, timeout_ms: float = 30_000) -> bool:
        try:
            return bool(super().await_ready(node_id, timeout_ms))
        except KafkaConnectionError:
            return False


def run(link: Link, told: threading.Event) -> None:
    consumer = KafkaConsumer(
        link.source,
        bootstrap_servers=link.bootstrap.split(","),
        group_id=link.group,
        client_id=link.transactional_id,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=300,
        fetch_max_wait_ms=100,
        reconnect_backoff_max_ms=500,
        max_poll_records=MOST_RECORDS,
    )
    producer = KafkaProducer(
        bootstrap_servers=link.bootstrap.split(","),
        transactional_id=link.transactional_id,
        transaction_timeout_ms=TRANSACTION_MS,
        reconnect_backoff_max_ms=500,
        kafka_client=ClientOfProducer,
    )
    producer.init_transactions()
    whims = Whims()
    while not told.is_set():
        polled = consumer.poll(200)
        if polled and not carried(link, consumer, producer, polled, aborts=whims.aborts()):
            for partition in consumer.assignment():
                consumer.seek(partition, consumer.committed(partition) or 0)
    producer.close()
    consumer.close()


def carried(
    link: Link,
    consumer: KafkaConsumer,
    producer: KafkaProducer,
    polled: dict[TopicPartition, list],
    *,
    aborts: bool,
) -> bool:
    """Whether the transaction was committed. Raises KafkaError where nothing can be done but begin anew."""
    producer.begin_transaction()
    try:
        for partition, records in polled.items():
            for record in records:
                producer.send(link.sink, transformed(record.value), partition=partition.partition)
        ends = {
            partition: OffsetAndMetadata(records[-1].offset + 1, "", records[-1].leader_epoch or -1)
            for partition, records in polled.items()
        }
        producer.send_offsets_to_transaction(ends, consumer.group_metadata())
        wait_at_the_gate(link, producer.flush)
        if not aborts:
            committed(producer)
            return True
    except KafkaError as error:
        print(f"aborts: {error!r}", flush=True)
    producer.abort_transaction()
    return False


def committed(producer: KafkaProducer) -> None:
    while True:
        try:
            producer.commit_transaction()
            return
        except KafkaTimeoutError:  # It may be asked again.
            pass


if __name__ == "__main__":
    try:
        run(from_arguments(), told_to_end())
    except KafkaError as fenced:
        print(repr(fenced), flush=True)
        sys.exit(FENCED)
