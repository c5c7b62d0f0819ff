from pathlib import Path

import pytest

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.declaration import ConfigTable
from kafka_zk.config.properties import parse_properties, read_file
from kafka_zk.config.shipped import NAMES, shipped_config
from kafka_zk.config.tables.consumer import CONSUMER_KEYS
from kafka_zk.config.tables.producer import PRODUCER_KEYS

PROJECT = Path(__file__).parents[3]

# The keys and values that Apache Kafka's own server.properties of the ZooKeeper mode sets.
AS_APACHE_SHIPS = {
    "broker.id": "0",
    "num.network.threads": "3",
    "num.io.threads": "8",
    "socket.send.buffer.bytes": "102400",
    "socket.receive.buffer.bytes": "102400",
    "socket.request.max.bytes": "104857600",
    "log.dirs": "/tmp/kafka-logs",
    "num.partitions": "1",
    "num.recovery.threads.per.data.dir": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "log.retention.hours": "168",
    "log.retention.check.interval.ms": "300000",
    "zookeeper.connect": "localhost:2181",
    "zookeeper.connection.timeout.ms": "18000",
    "group.initial.rebalance.delay.ms": "0",
}


def test_the_server_properties_of_apache_start_unchanged():
    config = BrokerConfig.from_properties(AS_APACHE_SHIPS)
    assert (config.broker_id, config.listeners[0].port, config.unknown) == (0, 9092, {})


def commented_in(path: Path) -> dict[str, str]:
    """The entries of a file, those behind a # without a space included."""
    lines = [line.removeprefix("#") if line[1:2] != " " else line for line in path.read_text().splitlines()]
    return parse_properties("\n".join(line for line in lines if "=" in line or not line.startswith("#")))


def test_our_server_properties_starts_and_so_does_every_line_of_it_that_is_switched_off():
    path = shipped_config("server.properties")
    assert BrokerConfig.from_properties(read_file(path)).unknown == {}
    everything = commented_in(path)
    assert set(read_file(path)) < set(everything)
    # The example of named listeners needs listeners of those names.
    everything["listeners"] = "INTERNAL://:9092,EXTERNAL://:9094"
    everything["advertised.listeners"] = "INTERNAL://kafka.example.com:9092"
    config = BrokerConfig.from_properties(everything)
    assert config.unknown == {}
    assert config.kafka_zk_metrics_port == 9100


@pytest.mark.parametrize(
    ("name", "table"), [("producer.properties", PRODUCER_KEYS), ("consumer.properties", CONSUMER_KEYS)]
)
def test_our_client_files_hold_declared_keys_with_right_values(name: str, table: ConfigTable):
    for key, value in commented_in(shipped_config(name)).items():
        table[key].parse(value)


def test_a_checkout_shows_the_shipped_files():
    for name in NAMES:
        assert (PROJECT / "config" / name).read_bytes() == shipped_config(name).read_bytes()
