"""Producers beside each other on one broker of ours: `python bench/client_producer.py [--records 1000000]`.

Ours, confluent-kafka (librdkafka, C) and kafka-python, each sending records of 100 bytes without keys to a topic of 12
partitions with acks=all, until all are acknowledged; the best of three runs each, in turn. Floor for ours: 300,000
records a second, compiled, on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.process import run_bench
from tests.support.broker import OurBroker
from tests.support.zookeeper import EmbeddedZooKeeper, fresh_chroot

FLOOR_RECORDS_PER_S = 300_000
VALUE = b"x" * 100
LINGER_MS = 5
BATCH_BYTES = 65_536
ROUNDS = 3


def ours(bootstrap: str, topic: str, count: int) -> float:
    from kafka_zk.client.producer.kafka_producer import KafkaProducer

    config = {
        "bootstrap.servers": bootstrap,
        "key.serializer": "ByteArraySerializer",
        "value.serializer": "ByteArraySerializer",
        "linger.ms": LINGER_MS,
        "batch.size": BATCH_BYTES,
    }
    with KafkaProducer(config) as producer:
        producer.send(topic, VALUE).result(30)
        send = producer.send
        began_s = time.perf_counter()
        for _ in range(count):
            send(topic, VALUE)
        producer.flush()
        return time.perf_counter() - began_s


def librdkafka(bootstrap: str, topic: str, count: int) -> float:
    from confluent_kafka import Producer

    producer = Producer(
        {"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": LINGER_MS, "batch.size": BATCH_BYTES,
         "enable.idempotence": True, "queue.buffering.max.messages": 1_000_000}
    )  # fmt: skip
    producer.produce(topic, VALUE)
    producer.flush(30)
    began_s = time.perf_counter()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, VALUE)
                break
            except BufferError:
                producer.poll(0.01)
        if number % 1000 == 0:
            producer.poll(0)
    producer.flush(120)
    return time.perf_counter() - began_s


def kafka_python(bootstrap: str, topic: str, count: int) -> float:
    from kafka import KafkaProducer

    producer = KafkaProducer(
        bootstrap_servers=bootstrap, acks="all", linger_ms=LINGER_MS, batch_size=BATCH_BYTES, enable_idempotence=True
    )
    producer.send(topic, VALUE).get(30)
    began_s = time.perf_counter()
    for _ in range(count):
        producer.send(topic, VALUE)
    producer.flush()
    took_s = time.perf_counter() - began_s
    producer.close()
    return took_s


CLIENTS: dict[str, Callable[[str, str, int], float]] = {
    "kafka_zk": ours,
    "confluent-kafka": librdkafka,
    "kafka-python": kafka_python,
}
SHARE = {"kafka-python": 10}
"""Slow ones send a part of the records."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--records", type=int, default=1_000_000)
    count = options.parse_args().records
    rates: dict[str, float] = dict.fromkeys(CLIENTS, 0.0)
    with tempfile.TemporaryDirectory() as folder:
        zookeeper = EmbeddedZooKeeper(Path(folder) / "zookeeper")
        zookeeper.start()
        broker = OurBroker(
            Path(folder) / "broker", fresh_chroot(zookeeper, "bench"), overrides={"num.partitions": "12"}
        ).start()
        try:
            for number in range(ROUNDS):
                for name, run in CLIENTS.items():
                    share = count // SHARE.get(name, 1)
                    rates[name] = max(rates[name], share / run(broker.bootstrap, f"bench-{number}", share))
        finally:
            broker.stop()
            zookeeper.stop()
    for name, rate in rates.items():
        print(f"{name:16} {rate:10,.0f} records/s")
    return 0 if rates["kafka_zk"] >= FLOOR_RECORDS_PER_S else 1


if __name__ == "__main__":
    run_bench(main)
