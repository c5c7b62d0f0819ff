"""Admin keys. Source: AdminClientConfig."""

from __future__ import annotations

from kafka_zk.config.declaration import HIGH, INT, KIB, LIST, LONG, LOW, MAX_INT, MEDIUM, STRING, Config, ConfigTable
from kafka_zk.config.tables.client_common import COMMON_KEYS
from kafka_zk.config.tables.client_security import SECURITY_KEYS
from kafka_zk.config.validators import at_least, between

# fmt: off
_OWN_KEYS: tuple[Config, ...] = (
    Config("bootstrap.controllers", LIST, [], None, HIGH,
           "KRaft: controllers to begin with."),
    Config("bootstrap.servers", LIST, [], None, HIGH,
           "Brokers to begin with, as host:port."),
    Config("client.id", STRING, "", None, MEDIUM,
           "Name of this client in logs, quotas and metrics."),
    Config("connections.max.idle.ms", LONG, 300_000, None, MEDIUM,
           "Close a connection without traffic after this time."),
    Config("default.api.timeout.ms", INT, 60_000, at_least(0), MEDIUM,
           "Longest duration of a call that takes no timeout of its own."),
    Config("metric.reporters", LIST, [], None, LOW,
           "Plug-ins that report metrics."),
    Config("receive.buffer.bytes", INT, 64 * KIB, at_least(-1), MEDIUM,
           "Receive buffer of a socket; -1 leaves it to the system."),
    Config("retries", INT, MAX_INT, between(0, MAX_INT), LOW,
           "Attempts after a failure that may pass."),
)
# fmt: on

ADMIN_KEYS = ConfigTable((*_OWN_KEYS, *COMMON_KEYS, *SECURITY_KEYS))
