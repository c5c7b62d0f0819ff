"""Broker keys: quotas and metrics."""

from __future__ import annotations

from kafka_zk.config.declaration import BOOLEAN, CLASS, CLUSTER_WIDE, INT, LIST, LONG, LOW, STRING, Config
from kafka_zk.config.validators import at_least

# fmt: off
QUOTAS_AND_METRICS_KEYS: tuple[Config, ...] = (
    Config("alter.log.dirs.replication.quota.window.num", INT, 11, at_least(1), LOW,
           "Samples kept for the throttle of moves between log directories."),
    Config("alter.log.dirs.replication.quota.window.size.seconds", INT, 1, at_least(1), LOW,
           "Length of one such sample."),
    Config("auto.include.jmx.reporter", BOOLEAN, True, None, LOW,
           "Report metrics over JMX even when no reporter asks for it."),
    Config("client.quota.callback.class", CLASS, None, None, LOW,
           "Plug-in that decides client quotas."),
    Config("controller.quota.window.num", INT, 11, at_least(1), LOW,
           "Samples kept for the quota of topic and partition changes.", read_by="broker.quota_configs"),
    Config("controller.quota.window.size.seconds", INT, 1, at_least(1), LOW,
           "Length of one such sample.", read_by="broker.quota_configs"),
    Config("kafka.metrics.polling.interval.secs", INT, 10, at_least(1), LOW,
           "How often metrics reporters are called."),
    Config("kafka.metrics.reporters", LIST, [], None, LOW,
           "Plug-ins that report the older kind of metrics."),
    Config("metric.reporters", LIST, [], None, LOW,
           "Plug-ins that report metrics.", update_mode=CLUSTER_WIDE),
    Config("metrics.num.samples", INT, 2, at_least(1), LOW,
           "Samples of a rate.", read_by="broker.parts"),
    Config("metrics.recording.level", STRING, "INFO", None, LOW,
           "How detailed the metrics are."),
    Config("metrics.sample.window.ms", LONG, 30_000, at_least(1), LOW,
           "Length of one sample of a rate.", read_by="broker.parts"),
    Config("quota.window.num", INT, 11, at_least(1), LOW,
           "Samples kept for client quotas.", read_by="network.settings"),
    Config("quota.window.size.seconds", INT, 1, at_least(1), LOW,
           "Length of one such sample.", read_by="network.settings"),
    Config("replication.quota.window.num", INT, 11, at_least(1), LOW,
           "Samples kept for replication throttles.", read_by="replication.throttle"),
    Config("replication.quota.window.size.seconds", INT, 1, at_least(1), LOW,
           "Length of one such sample.", read_by="replication.throttle"),
)
# fmt: on
