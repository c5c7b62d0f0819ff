"""Broker keys: transactions and producer ids."""

from __future__ import annotations

from kafka_zk.config.declaration import BOOLEAN, CLUSTER_WIDE, HIGH, INT, LOW, MIB, SHORT, Config
from kafka_zk.config.validators import at_least

# fmt: off
TRANSACTIONS_KEYS: tuple[Config, ...] = (
    Config("producer.id.expiration.check.interval.ms", INT, 600_000, at_least(1), LOW,
           "Time between searches for forgotten producers.", internal=True, read_by="log.manager"),
    Config("producer.id.expiration.ms", INT, 86_400_000, at_least(1), LOW,
           "How long the state of a silent producer is kept.", update_mode=CLUSTER_WIDE, read_by="log.loading.opening"),
    Config("transaction.abort.timed.out.transaction.cleanup.interval.ms", INT, 10_000, at_least(1), LOW,
           "Time between searches for transactions to abort.", read_by="coordinator.transaction.coordinator"),
    Config("transaction.max.timeout.ms", INT, 900_000, at_least(1), HIGH,
           "Longest transaction a producer may ask for.", read_by="coordinator.transaction.coordinator"),
    Config("transaction.partition.verification.enable", BOOLEAN, True, None, LOW,
           "Ask the coordinator before the first transactional write to a partition.", update_mode=CLUSTER_WIDE,
           read_by="broker.coordinators"),
    Config("transaction.remove.expired.transaction.cleanup.interval.ms", INT, 3_600_000, at_least(1), LOW,
           "Time between searches for expired transactional ids.", read_by="coordinator.transaction.coordinator"),
    Config("transaction.state.log.load.buffer.size", INT, 5 * MIB, at_least(1), HIGH,
           "Bytes read at once while transactions are loaded."),
    Config("transaction.state.log.min.isr", INT, 2, at_least(1), HIGH,
           "In-sync replicas the transaction topic needs.", read_by="admin.internal_topics"),
    Config("transaction.state.log.num.partitions", INT, 50, at_least(1), HIGH,
           "Partitions of the transaction topic; never change it later.", read_by="admin.internal_topics"),
    Config("transaction.state.log.replication.factor", SHORT, 3, at_least(1), HIGH,
           "Replicas of the transaction topic.", read_by="admin.internal_topics"),
    Config("transaction.state.log.segment.bytes", INT, 100 * MIB, at_least(1), HIGH,
           "Segment size of the transaction topic.", read_by="admin.internal_topics"),
    Config("transactional.id.expiration.ms", INT, 604_800_000, at_least(1), HIGH,
           "How long an unused transactional id is remembered.", read_by="coordinator.transaction.coordinator"),
)
# fmt: on
