"""Creates, enlarges and deletes topics over the wire, through the controller.

Role        Acts, through `Calls`. The first error in a response is raised.
Source      KafkaAdminClient.createTopics, deleteTopics, createPartitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kafka_zk.client.admin.admin_results import NewTopic, TopicDescription, topic_description
from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.protocol.errors import BrokerError, ErrorCode, InvalidTopicException, UnsupportedVersion, error_class_for
from kafka_zk.protocol.messages.metadata import MetadataResponse


def refuse_unnamed(names: Iterable[str]) -> None:
    """Raise InvalidTopicException for an empty name, without asking a broker."""
    if not all(names):
        raise InvalidTopicException("The given topic name '' cannot be represented in a request.")


def describe_each(
    names: Sequence[str], metadata_of: Callable[[Sequence[str]], MetadataResponse]
) -> dict[str, TopicDescription | BrokerError]:
    """Blocks. The description of each topic or its error, in the order of `names`. An empty name is not asked for."""
    found: dict[str, TopicDescription | BrokerError] = {}
    asked = [name for name in names if name]
    if asked:
        answer = metadata_of(asked)
        live = {broker.node_id for broker in answer.brokers}
        for topic in answer.topics:
            failed = topic.error_code != ErrorCode.NONE
            found[topic.name or ""] = error_class_for(topic.error_code)() if failed else topic_description(topic, live)
    unnamed = InvalidTopicException("The given topic name '' cannot be represented in a request.")
    return {name: found[name] if name else unnamed for name in names}


def create_topics(calls: Calls, topics: Sequence[NewTopic], *, timeout_ms: int, validate_only: bool) -> None:
    """Blocks. Create topics. Raises TopicAlreadyExists, InvalidReplicationFactor ..."""
    refuse_unnamed(topic.name for topic in topics)
    from kafka_zk.protocol.messages import create_topics as messages

    def build(version: int) -> messages.CreateTopicsRequest:
        if validate_only and version == 0:
            raise UnsupportedVersion("validateOnly is not supported in version 0")
        return messages.CreateTopicsRequest(
            topics=[_creatable(topic) for topic in topics],
            timeout_ms=timeout_ms,
            validate_only=validate_only,
        )

    def check(answer: messages.CreateTopicsResponse) -> None:
        for topic in answer.topics:
            raise_for(topic.error_code, topic.error_message)

    def _creatable(topic: NewTopic) -> messages.CreatableTopic:
        return messages.CreatableTopic(
            name=topic.name,
            num_partitions=-1 if topic.partition_count is None else topic.partition_count,
            replication_factor=-1 if topic.replication_factor is None else topic.replication_factor,
            assignments=[
                messages.CreatableReplicaAssignment(partition_index=index, broker_ids=list(replicas))
                for index, replicas in topic.assignment.items()
            ],
            configs=[messages.CreatableTopicConfig(name=name, value=text) for name, text in topic.configs.items()],
        )

    call = Call("createTopics", messages.CREATE_TOPICS_REQUEST, messages.CREATE_TOPICS_RESPONSE, build, check)
    calls.to_controller(call)


def delete_topics(calls: Calls, names: Sequence[str], *, timeout_ms: int) -> None:
    """Blocks. Delete topics. Raises UnknownTopicOrPartition, TopicDeletionDisabled ..."""
    refuse_unnamed(names)
    from kafka_zk.protocol.messages import delete_topics as messages

    def build(version: int) -> messages.DeleteTopicsRequest:
        by_state = version >= 6
        return messages.DeleteTopicsRequest(
            topics=[messages.DeleteTopicState(name=name) for name in names] if by_state else [],
            topic_names=[] if by_state else list(names),
            timeout_ms=timeout_ms,
        )

    def check(answer: messages.DeleteTopicsResponse) -> None:
        for topic in answer.responses:
            raise_for(topic.error_code, topic.error_message)

    call = Call("deleteTopics", messages.DELETE_TOPICS_REQUEST, messages.DELETE_TOPICS_RESPONSE, build, check)
    calls.to_controller(call)


def create_partitions(
    calls: Calls, counts: Mapping[str, int], given: Mapping[str, Sequence[Sequence[int]]], *, timeout_ms: int
) -> None:
    """Blocks. Increase topics to `counts` partitions; `given` may place the new ones.

    Raises InvalidPartitions, InvalidReplicaAssignment ...
    """
    from kafka_zk.protocol.messages import create_partitions as messages

    def build(_: int) -> messages.CreatePartitionsRequest:
        return messages.CreatePartitionsRequest(
            topics=[
                messages.CreatePartitionsTopic(
                    name=name,
                    count=count,
                    assignments=None
                    if name not in given
                    else [messages.CreatePartitionsAssignment(broker_ids=list(ids)) for ids in given[name]],
                )
                for name, count in counts.items()
            ],
            timeout_ms=timeout_ms,
        )

    def check(answer: messages.CreatePartitionsResponse) -> None:
        for topic in answer.results:
            raise_for(topic.error_code, topic.error_message)

    call = Call(
        "createPartitions", messages.CREATE_PARTITIONS_REQUEST, messages.CREATE_PARTITIONS_RESPONSE, build, check
    )
    calls.to_controller(call)
