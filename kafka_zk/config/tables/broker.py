"""All broker keys in one table, and those that exist only as dynamic values.

Source  KafkaConfig.configDef, DynamicConfig.Broker.
"""

from __future__ import annotations

from kafka_zk.config.declaration import CLUSTER_WIDE, LONG, MAX_LONG, MEDIUM, Config, ConfigTable
from kafka_zk.config.tables.broker_groups import GROUPS_KEYS
from kafka_zk.config.tables.broker_log import LOG_KEYS
from kafka_zk.config.tables.broker_network import NETWORK_KEYS
from kafka_zk.config.tables.broker_quotas_and_metrics import QUOTAS_AND_METRICS_KEYS
from kafka_zk.config.tables.broker_replication import REPLICATION_KEYS
from kafka_zk.config.tables.broker_security import SECURITY_KEYS
from kafka_zk.config.tables.broker_server import SERVER_KEYS
from kafka_zk.config.tables.broker_transactions import TRANSACTIONS_KEYS
from kafka_zk.config.tables.broker_unused import UNUSED_KEYS
from kafka_zk.config.tables.broker_zookeeper import ZOOKEEPER_KEYS
from kafka_zk.config.validators import at_least

BROKER_KEYS = ConfigTable(
    (
        *GROUPS_KEYS,
        *LOG_KEYS,
        *NETWORK_KEYS,
        *QUOTAS_AND_METRICS_KEYS,
        *REPLICATION_KEYS,
        *SECURITY_KEYS,
        *SERVER_KEYS,
        *TRANSACTIONS_KEYS,
        *UNUSED_KEYS,
        *ZOOKEEPER_KEYS,
    )
)

# fmt: off
DYNAMIC_ONLY_KEYS = ConfigTable((
    Config("follower.replication.throttled.rate", LONG, MAX_LONG, at_least(0), MEDIUM,
           "Bytes a second of throttled replicas fetched by this broker.", update_mode=CLUSTER_WIDE),
    Config("leader.replication.throttled.rate", LONG, MAX_LONG, at_least(0), MEDIUM,
           "Bytes a second of throttled replicas served by this broker.", update_mode=CLUSTER_WIDE),
    Config("replica.alter.log.dirs.io.max.bytes.per.second", LONG, MAX_LONG, at_least(0), MEDIUM,
           "Bytes a second of moves between log directories.", update_mode=CLUSTER_WIDE),
))
# fmt: on
