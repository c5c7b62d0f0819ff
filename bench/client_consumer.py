"""Our consumer beside confluent-kafka (librdkafka) and kafka-python: `python -m bench.client_consumer`.

One of our brokers, one topic of 100-byte records, each client in a process of its own, one after the other. A rate is
from the first record handed out to the last, in a group of one member, with all settings at their defaults.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.brokers import our_broker
from bench.process import run_bench
from tests.support.zookeeper import EmbeddedZooKeeper

TOPIC = "records"
PARTITIONS = 6
RECORD_BYTES = 100
FLOOR_RECORDS_S = 1_000_000
ROUNDS = 3
"""The best counts: what else the machine does takes away from the others."""
KAFKA_PYTHON_SHARE = 10
"""It is given a tenth: the whole would take it half a minute."""


def fill(bootstrap: str, count: int) -> None:
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(60)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "batch.size": 16384})
    value = bytes(RECORD_BYTES)
    for number in range(count):
        while True:
            try:
                producer.produce(TOPIC, value, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(120) == 0


def read_all(take: Callable[[], int], count: int) -> dict[str, float]:
    """Rate and CPU from the first records on."""
    read = take()
    while not read:
        read = take()
    first, begun_s, cpu_s = read, time.perf_counter(), time.process_time()
    while read < count:
        read += take()
    spent_s = time.perf_counter() - begun_s
    return {
        "records_s": (read - first) / spent_s,
        "cpu_us": (time.process_time() - cpu_s) * 1e6 / (read - first),
        "resident_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def ours(bootstrap: str, count: int) -> dict[str, float]:
    from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer

    deserializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
    with KafkaConsumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"ours-{time.time_ns()}",
            "auto.offset.reset": "earliest",
            "key.deserializer": deserializer,
            "value.deserializer": deserializer,
        }
    ) as consumer:
        consumer.subscribe([TOPIC])

        def take() -> int:
            size = 0
            for record in consumer.poll(1):
                size += len(record.value) == RECORD_BYTES
            return size

        return read_all(take, count)


def confluent(bootstrap: str, count: int) -> dict[str, float]:
    import confluent_kafka

    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": f"confluent-{time.time_ns()}", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([TOPIC])

    def take() -> int:
        size = 0
        for message in consumer.consume(500, 1):
            size += len(message.value()) == RECORD_BYTES
        return size

    found = read_all(take, count)
    consumer.close()
    return found


def kafka_python(bootstrap: str, count: int) -> dict[str, float]:
    import kafka

    consumer = kafka.KafkaConsumer(
        TOPIC, bootstrap_servers=bootstrap, group_id=f"kafka-python-{time.time_ns()}", auto_offset_reset="earliest"
    )

    def take() -> int:
        size = 0
        for records in consumer.poll(1000).values():
            for record in records:
                size += len(record.value) == RECORD_BYTES
        return size

    found = read_all(take, count)
    consumer.close()
    return found


CLIENTS = {"ours": ours, "confluent-kafka": confluent, "kafka-python": kafka_python}


def measured(client: str, bootstrap: str, count: int) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.client_consumer", "--client", client, bootstrap, str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--check", action="store_true", help="exit code 1 below the floor")
    parser.add_argument("--client", nargs=3, metavar=("NAME", "BOOTSTRAP", "RECORDS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        name, bootstrap, count = options.client
        print(json.dumps(CLIENTS[name](bootstrap, int(count))))
        return 0
    with tempfile.TemporaryDirectory(prefix="kafka-zk-bench-") as folder_name:
        folder = Path(folder_name)
        zookeeper = EmbeddedZooKeeper(folder / "zookeeper")
        zookeeper.start()
        broker = our_broker(folder / "ours", zookeeper.connect)
        try:
            broker.start()
            fill(broker.bootstrap, options.records)
            print(f"{'consumer':18s}{'records/s':>12s}{'CPU us/record':>15s}{'resident MB':>13s}")
            rates = {}
            for client in CLIENTS:
                count = options.records // (KAFKA_PYTHON_SHARE if client == "kafka-python" else 1)
                found = max(
                    (measured(client, broker.bootstrap, count) for _ in range(ROUNDS)),
                    key=lambda each: each["records_s"],
                )
                rates[client] = found["records_s"]
                figures = f"{found['records_s']:12,.0f}{found['cpu_us']:15.2f}{found['resident_mb']:13.0f}"
                print(f"{client:18s}{figures}", flush=True)
        finally:
            broker.stop()
            zookeeper.stop()
    missed = rates["ours"] < FLOOR_RECORDS_S
    print(f"floor: {FLOOR_RECORDS_S:,} records/s: {'MISSED' if missed else 'kept'}")
    return int(options.check and missed)


if __name__ == "__main__":
    run_bench(main)
