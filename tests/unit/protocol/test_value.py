"""Message objects: defaults, equality, repr."""

from __future__ import annotations

import copy

import pytest

from kafka_zk.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafka_zk.protocol.messages.fetch import FetchRequest, PartitionData, ReplicaState
from kafka_zk.protocol.messages.metadata import MetadataRequest


def test_fields_start_with_kafkas_defaults():
    assert CreateTopicsRequest().timeout_ms == 60000
    assert FetchRequest().max_bytes == 0x7FFFFFFF
    assert MetadataRequest().allow_auto_topic_creation is True
    assert FetchRequest().replica_state == ReplicaState(replica_id=-1, replica_epoch=-1)
    assert PartitionData().records is None


def test_default_lists_and_structs_are_not_shared():
    first, second = FetchRequest(), FetchRequest()
    first.topics.append(None)
    first.replica_state.replica_id = 3
    assert second.topics == []
    assert second.replica_state.replica_id == -1


def test_objects_compare_by_value_and_class():
    assert CreatableTopic(name="a") == CreatableTopic(name="a")
    assert CreatableTopic(name="a") != CreatableTopic(name="b")
    assert CreatableTopic() != "CreatableTopic"
    with pytest.raises(TypeError):
        hash(CreatableTopic())


def test_copies_are_equal_and_independent():
    topic = CreatableTopic(name="a", num_partitions=3)
    twin = copy.deepcopy(topic)
    twin.num_partitions = 4
    assert topic == CreatableTopic(name="a", num_partitions=3)


def test_a_repr_names_the_fields_and_shortens_payloads():
    assert repr(ReplicaState(replica_id=1)) == "ReplicaState(replica_id=1, replica_epoch=-1)"
    assert "records=<1000 bytes>" in repr(PartitionData(records=bytes(1000)))
    assert "records=b'ab'" in repr(PartitionData(records=memoryview(b"ab")))


def test_a_repr_of_very_many_elements_fits_a_log_line():
    request = CreateTopicsRequest(topics=[CreatableTopic(name="t" * 2_000)] * 1_000)
    assert "1000 in all" in repr(request)
    assert len(repr(request)) < 30_000


def test_unknown_and_positional_arguments_are_refused():
    with pytest.raises(TypeError):
        ReplicaState(replica=1)
    with pytest.raises(TypeError):
        ReplicaState(1)
    with pytest.raises(AttributeError):
        ReplicaState().epoch = 1
