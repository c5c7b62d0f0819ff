"""Broker keys: consumer groups and their offsets."""

from __future__ import annotations

from kafka_zk.config.declaration import HIGH, INT, KIB, LIST, LONG, MAX_INT, MEDIUM, MIB, SHORT, Config
from kafka_zk.config.validators import at_least, list_of

# fmt: off
GROUPS_KEYS: tuple[Config, ...] = (
    Config("group.coordinator.rebalance.protocols", LIST, ["classic"], list_of("consumer", "classic", "share",
           "unknown"), MEDIUM,
           "Group protocols in use; only `classic` works with ZooKeeper."),
    Config("group.initial.rebalance.delay.ms", INT, 3000, None, MEDIUM,
           "Wait for more members before the first rebalance of an empty group.",
           read_by="coordinator.group.coordinator"),
    Config("group.max.session.timeout.ms", INT, 1_800_000, None, MEDIUM,
           "Largest session timeout a consumer may ask for.", read_by="coordinator.group.coordinator"),
    Config("group.max.size", INT, MAX_INT, at_least(1), MEDIUM,
           "Most members of one group.", read_by="coordinator.group.coordinator"),
    Config("group.min.session.timeout.ms", INT, 6000, None, MEDIUM,
           "Smallest session timeout a consumer may ask for.", read_by="coordinator.group.coordinator"),
    Config("offset.metadata.max.bytes", INT, 4 * KIB, None, HIGH,
           "Longest text stored with a committed offset.", read_by="api.group.zookeeper_offsets"),
    Config("offsets.commit.required.acks", SHORT, -1, None, HIGH,
           "Acknowledgements a commit waits for.", read_by="coordinator.group.coordinator"),
    Config("offsets.commit.timeout.ms", INT, 5000, at_least(1), HIGH,
           "Longest wait for them.", read_by="coordinator.group.coordinator"),
    Config("offsets.load.buffer.size", INT, 5 * MIB, at_least(1), HIGH,
           "Bytes read at once while a group's offsets are loaded."),
    Config("offsets.retention.check.interval.ms", LONG, 600_000, at_least(1), HIGH,
           "Time between searches for expired offsets.", read_by="coordinator.group.coordinator"),
    Config("offsets.retention.minutes", INT, 10_080, at_least(1), HIGH,
           "How long the offsets of a group without members are kept.", read_by="coordinator.group.coordinator"),
    Config("offsets.topic.compression.codec", INT, 0, None, HIGH,
           "Codec of the offsets topic, as a number.", read_by="coordinator.group.coordinator"),
    Config("offsets.topic.num.partitions", INT, 50, at_least(1), HIGH,
           "Partitions of the offsets topic; never change it later.", read_by="admin.internal_topics"),
    Config("offsets.topic.replication.factor", SHORT, 3, at_least(1), HIGH,
           "Replicas of the offsets topic.", read_by="admin.internal_topics"),
    Config("offsets.topic.segment.bytes", INT, 100 * MIB, at_least(1), HIGH,
           "Segment size of the offsets topic.", read_by="admin.internal_topics"),
)
# fmt: on
