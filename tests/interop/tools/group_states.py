"""A cluster with groups in every state, for tools to look at and to change, and the way back to how it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import NewTopic
from kafka_zk.client.admin.group_results import CommittedOffset
from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.messages.join_group import JOIN_GROUP_REQUEST, JoinGroupRequest, JoinGroupRequestProtocol
from kafka_zk.protocol.messages.sync_group import SYNC_GROUP_REQUEST, SyncGroupRequest, SyncGroupRequestAssignment
from kafka_zk.protocol.types import TopicPartition
from tests.support.our_consumer import Consumers, poll_until
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient

BEGIN_MS = 1_600_000_000_000
MINUTE_MS = 60_000
LONG_TOPIC = "a-topic-with-a-name-of-more-than-24-characters"
RECORDS = {"orders": [10, 7, 0, 3], "payments": [1] * 13, LONG_TOPIC: [2]}
"""Records of each partition, a minute from one to the next; the first three of orders-0 are deleted."""
DELETED = 3
IDLE_GROUPS = ("idle", "spare", "one space", "a,b")
FAR_MS = 1_800_000


def offsets(text: str) -> dict[TopicPartition, CommittedOffset]:
    """`orders-0=4 orders-1=7`."""
    found = {}
    for word in text.split():
        partition, _, offset = word.partition("=")
        topic, _, number = partition.rpartition("-")
        found[TopicPartition(topic, int(number))] = CommittedOffset(int(offset))
    return found


COMMITTED = {
    "idle": offsets(f"orders-0=4 orders-1=7 orders-3=9 payments-0=0 payments-11=1 payments-5=0 {LONG_TOPIC}-0=1"),
    "spare": offsets("orders-1=2"),
    "one space": offsets("orders-1=3 orders-0=5"),
    "a,b": offsets("payments-3=1"),
    "live": offsets(f"orders-0=3 orders-1=5 payments-2=1 {LONG_TOPIC}-0=2"),
    "lone": offsets("orders-0=10 orders-1=7"),
}


def fill(bootstrap: str) -> None:
    """Blocks. Topics and their records."""
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        wait_until(lambda: admin.describe_cluster().nodes, "the broker knows itself")
        # The records are old: they must stay all the same.
        configs = {"retention.ms": "-1"}
        admin.create_topics([NewTopic(name, len(counts), 1, configs=configs) for name, counts in RECORDS.items()])
        properties = {
            "bootstrap.servers": bootstrap,
            "key.serializer": "StringSerializer",
            "value.serializer": "StringSerializer",
        }
        with KafkaProducer(properties) as producer:
            for topic, counts in RECORDS.items():
                for partition, count in enumerate(counts):
                    for number in range(count):
                        producer.send(topic, "x", partition=partition, timestamp_ms=BEGIN_MS + number * MINUTE_MS)
        admin.delete_records({TopicPartition("orders", 0): DELETED})


def reset(bootstrap: str) -> None:
    """Blocks. Groups without members as they were at the beginning."""
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        listed = {group.group_id for group in admin.list_consumer_groups()}
        admin.delete_consumer_groups(sorted(listed - {"live", "lone", "joining"}))
        for group in IDLE_GROUPS:
            admin.alter_consumer_group_offsets(group, COMMITTED[group])


@contextmanager
def members(bootstrap: str) -> Iterator[None]:
    """Blocks. Groups that live for the time of the block: consumers, a worker of Connect's, one that only joins."""
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        for group in ("live", "lone"):
            wait_until(lambda group=group: _commits(admin, group), "the coordinator has loaded")
    with Consumers(bootstrap) as make:
        make_live(make)
        _join(bootstrap, "workers", "connect", sync=True)
        _join(bootstrap, "joining", "consumer", sync=False)
        yield


def _commits(admin: AdminClient, group: str) -> bool:
    try:
        admin.alter_consumer_group_offsets(group, COMMITTED[group])
    except BrokerError:
        return False
    return True


def make_live(make: Consumers) -> list[KafkaConsumer]:
    """Two readers, one of them static, and another one alone."""
    # Nobody polls them while tools run.
    patience = {"session_timeout_ms": 45_000, "heartbeat_interval_ms": 3000, "max_poll_interval_ms": 1_800_000}
    dynamic = make(group_id="live", client_id="reader-1", **patience)
    static = make(group_id="live", client_id="reader-2", group_instance_id="seat-2", **patience)
    alone = make(group_id="lone", client_id="reader-with-quite-a-long-name", **patience)
    dynamic.subscribe(["orders", "payments"])
    static.subscribe(["orders", "payments"])
    alone.subscribe(["orders"])
    pair = [dynamic, static]

    def are_assigned() -> bool:
        owned = [partition for each in pair for partition in each.assignment()]
        return (
            len(owned) == len(set(owned)) == 17 and all(each.assignment() for each in pair) and bool(alone.assignment())
        )

    poll_until([*pair, alone], are_assigned)
    return [*pair, alone]


def _join(bootstrap: str, group: str, protocol_type: str, *, sync: bool) -> None:
    """Blocks. One member that never says anything again; its session is long."""
    join = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=FAR_MS,
        rebalance_timeout_ms=FAR_MS,
        member_id="",
        protocol_type=protocol_type,
        protocols=[JoinGroupRequestProtocol(name="plain", metadata=b"")],
    )
    with RawClient(bootstrap, "raw-member") as client:
        joined = client.send(JOIN_GROUP_REQUEST, join, 3)
        assert joined.error_code == 0, joined
        if sync:
            mine = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"")
            request = SyncGroupRequest(
                group_id=group, generation_id=joined.generation_id, member_id=joined.member_id, assignments=[mine]
            )
            assert client.send(SYNC_GROUP_REQUEST, request, 3).error_code == 0


STREAMS_TOPICS = (
    "app1-store-changelog",
    "app1-x-repartition",
    "app1-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000004-topic",
    "app1-output",
)


def prepare_streams(bootstrap: str) -> None:
    """Blocks. What an application of Kafka Streams leaves behind, and a member that was left in another one."""
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        known = {topic.name for topic in admin.list_topics()}
        admin.create_topics([NewTopic(name, 1, 1) for name in STREAMS_TOPICS if name not in known])
        admin.delete_consumer_groups(["app1", "forced"])
        admin.alter_consumer_group_offsets("app1", offsets("orders-0=5 orders-1=1"))
    _join(bootstrap, "forced", "consumer", sync=True)
