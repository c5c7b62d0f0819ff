"""Topics that every broker of a cluster knows, with their leaders: then a client is served at once, wherever it asks.

A topic's creation is answered once one broker knows it. The others hear of it in requests of their own, a little later.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.protocol.errors import LeaderNotAvailable, UnknownTopicOrPartition
from tests.support.processes import wait_until


def wait_until_led(*brokers: str | Mapping[str, str], topics: tuple[str, ...], partitions: int = 1) -> None:
    """Blocks until each of the brokers tells a leader of every partition of each topic: at least `partitions` of them.

    A broker: its address alone as bootstrap server, or the properties of a client that may describe the topics. Give
    the leaders, too: what leads a partition is told so before it is told of the topic.
    """
    for broker in brokers:
        properties = {"bootstrap.servers": broker} if isinstance(broker, str) else broker
        # A client of its own for each: it asks the only broker that it was given.
        with AdminClient(properties) as admin:
            wait_until(lambda admin=admin: are_led(admin, topics, partitions), f"{topics} are led at {broker}")


def are_led(admin: AdminClient, topics: tuple[str, ...], partitions: int = 1) -> bool:
    """Whether the first broker that the client asks knows these topics and their leaders."""
    try:
        described = admin.describe_topics(topics)
    except (UnknownTopicOrPartition, LeaderNotAvailable):
        return False
    return all(
        len(described[topic].partitions) >= partitions
        and all(partition.leader is not None for partition in described[topic].partitions)
        for topic in topics
    )
