"""The JSON file of both election tools: the partitions whose leaders are elected.

Role        Pure.
Source      LeaderElectionCommand.topicPartitions of 3.9, PreferredReplicaLeaderElectionCommand of 2.8.
"""

from __future__ import annotations

from typing import Any

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common import java_json


def listed_partitions(document: Any, integer: str = "Integer") -> list[TopicPartition] | None:
    """The partitions in the file's order, maybe more than once; None where it has no list. Raises JavaError,
    in which a number is called `integer`."""
    fields = java_json.as_object(document)
    if "partitions" not in fields:
        return None
    found = []
    for each in java_json.as_array(fields["partitions"]):
        entry = java_json.as_object(each)
        topic = java_json.as_string(java_json.field(entry, "topic"))
        found.append(TopicPartition(topic, java_json.as_integer(java_json.field(entry, "partition"), integer)))
    return found
