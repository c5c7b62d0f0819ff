"""Which topics the members of a consumer group subscribe to, from their join metadata.

Role        Pure.
Source      Kafka 3.9 GroupMetadata.computeSubscribedTopics.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.messages.consumer_protocol import CONSUMER_PROTOCOL_SUBSCRIPTION
from kafka_zk.protocol.versioned import payload_version

CONSUMER_PROTOCOL_TYPE = "consumer"


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """The topics of all subscriptions together; None if one cannot be read.

    Every version begins with the fields of version 0, so that one is read, whatever the client speaks.
    """
    topics: set[str] = set()
    try:
        for subscription in subscriptions:
            if payload_version(subscription) < 0:
                return None
            topics.update(CONSUMER_PROTOCOL_SUBSCRIPTION.decode(subscription, 0, 2).topics)
    except DecodeError:
        return None
    return frozenset(topics)
