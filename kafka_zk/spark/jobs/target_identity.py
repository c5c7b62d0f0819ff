"""Which cluster and topics a checkpoint's output went to, so that a later run refuses others of the same names.

Role        Acts, on the driver; TargetIdentity is pure.
Why         A checkpoint goes on behind what it has written. In another cluster, or in a topic that was made anew, what
            came before would be missing, and nobody would notice.
Note        A small file with the cluster's id and the ids of topics. A checkpoint of an earlier version has none: its
            next run takes what it finds for what was meant, and notes it. Clusters whose topics have no ids (before
            Kafka 2.8) are known by their own id only.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafka_zk.spark.jobs.cluster import cluster_id, topic_ids
from kafka_zk.spark.jobs.copy_plan import check_topic_ids
from kafka_zk.spark.jobs.outcome import JobError

if TYPE_CHECKING:
    from kafka_zk.spark.jobs.file_store import FileStore

NOTE = "_target"


@dataclass(frozen=True, slots=True)
class TargetIdentity:
    """`topic_ids` as text, of those topics that have one."""

    cluster_id: str = ""
    topic_ids: Mapping[str, str] = field(default_factory=dict)

    def encode(self) -> str:
        return json.dumps({"cluster_id": self.cluster_id, "topic_ids": dict(sorted(self.topic_ids.items()))})


def decode(text: str | None) -> TargetIdentity:
    """What `TargetIdentity.encode` made; of None, the identity of anything."""
    return TargetIdentity(**json.loads(text)) if text else TargetIdentity()


def claim_target(
    checkpoint: FileStore, target: Mapping[str, str], topics: Collection[str] = (), *, has_begun: bool
) -> None:
    """Blocks. Note where the output goes, or raise JobError if what it has begun with is another place.

    `has_begun`: whether anything may have been written. A topic that is not there yet is noted by a later call.
    """
    text = checkpoint.read(NOTE)
    noted = decode(text) if has_begun else TargetIdentity()
    found = cluster_id(target)
    if noted.cluster_id and found != noted.cluster_id:
        raise JobError(
            f"the checkpoint {checkpoint.root} has written to the cluster {noted.cluster_id}, and "
            f"{target['bootstrap.servers']} is the cluster {found}, which lacks that; use that cluster, or another "
            "checkpoint"
        )
    known = {topic: noted.topic_ids[topic] for topic in topics if topic in noted.topic_ids}
    ids = topic_ids(target, topics, known=known)
    check_topic_ids(known, ids, "the target")
    if gone := sorted(known.keys() - ids):
        raise JobError(
            f"topic {gone[0]} of the target, where the checkpoint {checkpoint.root} has written to, is not there any "
            "more; use another checkpoint"
        )
    now = TargetIdentity(found, {**noted.topic_ids, **ids}).encode()
    if now != text:
        checkpoint.write(NOTE, now)
