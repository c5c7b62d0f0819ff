"""Partition assignors: how a group's leader distributes partitions among the members."""

from kafka_zk.client.consumer.assignors.catalogue import assignors_by_class_name
from kafka_zk.client.consumer.assignors.model import Assignment, Assignor, Member, RebalanceProtocol, ReplicaRacks

__all__ = ["Assignment", "Assignor", "Member", "RebalanceProtocol", "ReplicaRacks", "assignors_by_class_name"]
