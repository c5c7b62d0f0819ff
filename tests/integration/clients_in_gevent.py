"""A program that uses our clients in a gevent loop, and says as JSON how it went: `PATCHED BOOTSTRAP TOPIC`.

`patched`: everything was monkey patched first (`python -m gevent.monkey`), and the clients are called from greenlets.
`plain`: nothing is patched, and they are called in threads of gevent's pool. `ticks` counts how often another greenlet
ran while a call waited.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gevent

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.errors import TimeoutException
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.protocol.types import TopicPartition

MODE, BOOTSTRAP, TOPIC = sys.argv[1:]
COUNT = 500
WAIT_S = 0.3
TICK_S = 0.005
NOWHERE = "127.0.0.1:1"
BYTES = "org.apache.kafka.common.serialization.ByteArray"

ticks: dict[str, int] = {}


@contextmanager
def counted(name: str) -> Iterator[None]:
    ran = [0]

    def tick() -> None:
        while True:
            gevent.sleep(TICK_S)
            ran[0] += 1

    ticker = gevent.spawn(tick)
    try:
        yield
    finally:
        ticks[name] = ran[0]
        ticker.kill()


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """In a greenlet where the clients switch by themselves, else in a thread of the pool."""
    if MODE == "patched":
        return gevent.spawn(function, *arguments).get()
    return gevent.get_hub().threadpool.apply(function, arguments)


def producer(bootstrap: str) -> KafkaProducer:
    return KafkaProducer(
        {
            "bootstrap.servers": bootstrap,
            "key.serializer": BYTES + "Serializer",
            "value.serializer": BYTES + "Serializer",
            "max.block.ms": int(WAIT_S * 1000),
        }
    )


def produce() -> list[int]:
    with producer(BOOTSTRAP) as made:
        futures = [made.send(TOPIC, b"%d" % number, partition=0) for number in range(COUNT)]
        made.flush(20)
        return [future.result(0).offset for future in futures]


def consume(waits: bool) -> list[bytes]:
    values: list[bytes] = []
    with KafkaConsumer(
        {
            "bootstrap.servers": BOOTSTRAP,
            "group.id": f"{TOPIC}-{waits}",
            "auto.offset.reset": "latest" if waits else "earliest",
            "key.deserializer": BYTES + "Deserializer",
            "value.deserializer": BYTES + "Deserializer",
        }
    ) as made:
        if waits:
            made.assign([TopicPartition(TOPIC, 0)])
            made.seek_to_end([TopicPartition(TOPIC, 0)])
            made.position(TopicPartition(TOPIC, 0))
            return [record.value for record in made.poll(WAIT_S)]
        made.subscribe([TOPIC])
        while len(values) < COUNT:
            values += [record.value for record in made.poll(1)]
        made.commit_sync()
    return values


def wait_for_metadata() -> str:
    with producer(NOWHERE) as made:
        error = made.send("t", b"x").exception(20)
        assert isinstance(error, TimeoutException)
        return type(error).__name__


def topics() -> list[str]:
    with AdminClient({"bootstrap.servers": BOOTSTRAP}) as admin:
        return [topic.name for topic in admin.list_topics()]


offsets = call(produce)
values = call(consume, False)
with counted("poll"):
    nothing = call(consume, True)
with counted("send"):
    failure = call(wait_for_metadata)
print(json.dumps({
    "offsets": offsets == list(range(COUNT)),
    "values": [int(value) for value in values] == list(range(COUNT)),
    "nothing": nothing == [],
    "failure": failure,
    "topic": TOPIC in call(topics),
    "ticks": ticks,
}))  # fmt: skip
