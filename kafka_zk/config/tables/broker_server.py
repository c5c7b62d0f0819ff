"""Broker keys: identity, threads and purgatories."""

from __future__ import annotations

from kafka_zk.config.declaration import BOOLEAN, CLUSTER_WIDE, HIGH, INT, MEDIUM, STRING, Config
from kafka_zk.config.validators import at_least

# fmt: off
SERVER_KEYS: tuple[Config, ...] = (
    Config("background.threads", INT, 10, at_least(1), HIGH,
           "Threads for chores such as retention and checkpoints.", update_mode=CLUSTER_WIDE),
    Config("broker.id", INT, -1, None, HIGH,
           "This broker's number in the cluster; -1 asks ZooKeeper for one.", read_by="broker.membership.membership"),
    Config("broker.id.generation.enable", BOOLEAN, True, None, MEDIUM,
           "Allow a broker id to be handed out by ZooKeeper."),
    Config("broker.rack", STRING, None, None, MEDIUM,
           "Rack of this broker; used to spread replicas and to let consumers read nearby.",
           read_by="broker.membership.advertised"),
    Config("delete.records.purgatory.purge.interval.requests", INT, 1, None, MEDIUM,
           "Finished delete-records requests that trigger a clean-up of the purgatory."),
    Config("fetch.purgatory.purge.interval.requests", INT, 1000, None, MEDIUM,
           "Finished fetches that trigger a clean-up of the purgatory."),
    Config("node.id", INT, -1, None, HIGH,
           "Another name of broker.id.", read_by="broker.membership.membership"),
    Config("num.io.threads", INT, 8, at_least(1), HIGH,
           "Request handler threads of Apache Kafka; one loop does the work here.", update_mode=CLUSTER_WIDE),
    Config("num.network.threads", INT, 3, at_least(1), HIGH,
           "Network threads of Apache Kafka; one loop does the work here.", update_mode=CLUSTER_WIDE),
    Config("num.recovery.threads.per.data.dir", INT, 1, at_least(1), HIGH,
           "Threads that recover the logs of one directory.", update_mode=CLUSTER_WIDE, read_by="log.manager"),
    Config("producer.purgatory.purge.interval.requests", INT, 1000, None, MEDIUM,
           "Finished produces that trigger a clean-up of the purgatory."),
    Config("request.timeout.ms", INT, 30_000, None, HIGH,
           "Longest wait for another broker's answer.", read_by="broker.coordinators"),
    Config("reserved.broker.max.id", INT, 1000, at_least(0), MEDIUM,
           "Highest id that users may choose; generated ids start above.", read_by="broker.parts"),
)
# fmt: on
