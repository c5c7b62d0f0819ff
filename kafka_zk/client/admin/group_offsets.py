"""Lists, alters and deletes committed offsets of groups, through their coordinators.

Role        Acts, through `Calls`.
Invariants  A commit carries no member or generation: the coordinator accepts it only while the group is empty.
Source      ListConsumerGroupOffsetsHandler, AlterConsumerGroupOffsetsHandler, DeleteConsumerGroupOffsetsHandler.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping

from kafka_zk.client.admin.admin_results import Node
from kafka_zk.client.admin.calls import Call, Calls
from kafka_zk.client.admin.coordinators import (
    Again,
    CoordinatorCall,
    Outcome,
    ask_coordinators,
    log_unexpected,
    outcome_of,
    value_of,
)
from kafka_zk.client.admin.group_results import CommittedOffset
from kafka_zk.client.errors import IllegalArgumentException, KafkaException
from kafka_zk.protocol.errors import BrokerError, ErrorCode, error_class_for
from kafka_zk.protocol.messages import offset_commit, offset_delete, offset_fetch
from kafka_zk.protocol.types import TopicPartition

NO_GENERATION = -1
NO_EPOCH = -1
GROUPS_BY_LIST = 8
_HANDLERS = "org.apache.kafka.clients.admin.internals."
_COMMIT_HANDLER = "AlterConsumerGroupOffsetsHandler"
_EXPECTED_OF_COMMIT = frozenset(
    {
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
)

Committed = dict[TopicPartition, CommittedOffset]
Problems = dict[TopicPartition, BrokerError | KafkaException | None]


def list_group_offsets(calls: Calls, groups: Collection[str]) -> dict[str, Committed | BrokerError | KafkaException]:
    """Blocks. Lists every offset that each group has committed, in the response's order."""
    call = CoordinatorCall(
        "offsetFetch",
        "OFFSET_FETCH",
        "ListConsumerGroupOffsetsHandler",
        "`OffsetFetch` request for group id {group} failed due to unexpected error {error}",
        _fetch,
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH),
    )
    return ask_coordinators(calls, groups, call)


def _fetch(calls: Calls, node: Node, groups: list[str], deadline_s: float) -> Mapping[str, Outcome[Committed]]:
    def ask(wanted: list[str]) -> offset_fetch.OffsetFetchResponse:
        def build(version: int) -> offset_fetch.OffsetFetchRequest:
            if version >= GROUPS_BY_LIST:
                lists = [offset_fetch.OffsetFetchRequestGroup(group_id=group, topics=None) for group in wanted]
                return offset_fetch.OffsetFetchRequest(groups=lists)
            if len(wanted) > 1:
                raise _NoBatches
            return offset_fetch.OffsetFetchRequest(group_id=wanted[0], topics=None)

        request, response = offset_fetch.OFFSET_FETCH_REQUEST, offset_fetch.OFFSET_FETCH_RESPONSE
        return calls.to_node_once(node.id, Call("offsetFetch(api=OFFSET_FETCH)", request, response, build), deadline_s)

    try:
        answer = ask(groups)
    except _NoBatches:
        return {group: _committed(calls, (single := ask([group])).error_code, single.topics) for group in groups}
    if not answer.groups:
        return {groups[0]: _committed(calls, answer.error_code, answer.topics)}
    return {each.group_id: _committed(calls, each.error_code, each.topics) for each in answer.groups}


class _NoBatches(Exception):
    """The broker reads the offsets of only one group per request."""


def _committed(
    calls: Calls,
    error_code: int,
    topics: Iterable[offset_fetch.OffsetFetchResponseTopic | offset_fetch.OffsetFetchResponseTopics],
) -> Outcome[Committed]:
    if error_code != ErrorCode.NONE:
        return outcome_of(error_code)
    found: Committed = {}
    for topic in topics:
        for each in topic.partitions:
            partition = TopicPartition(topic.name, each.partition_index)
            if each.error_code != ErrorCode.NONE:
                # Java prints the constant's name here.
                text = (
                    f"Skipping return offset for {partition} due to error {error_class_for(each.error_code).code.name}."
                )
                logging.getLogger(_HANDLERS + "ListConsumerGroupOffsetsHandler").warning("%s", calls.log_text(text))
            elif each.committed_offset >= 0:
                epoch = each.committed_leader_epoch
                found[partition] = CommittedOffset(
                    each.committed_offset, None if epoch == NO_EPOCH else epoch, each.metadata or ""
                )
    return found


def alter_group_offsets(calls: Calls, group: str, offsets: Mapping[TopicPartition, CommittedOffset]) -> Problems:
    """Blocks. Returns each partition's error; None: it is committed. Raises the group's error."""

    def ask(calls: Calls, node: Node, groups: list[str], deadline_s: float) -> Mapping[str, Outcome[Problems]]:
        request, response = offset_commit.OFFSET_COMMIT_REQUEST, offset_commit.OFFSET_COMMIT_RESPONSE
        call = Call("offsetCommit(api=OFFSET_COMMIT)", request, response, lambda _: _commit_request(group, offsets))
        return {group: _commit_outcome(calls, group, calls.to_node_once(node.id, call, deadline_s))}

    if not offsets:
        return {}
    call = CoordinatorCall("offsetCommit", "OFFSET_COMMIT", _COMMIT_HANDLER, "", ask, frozenset(ErrorCode))
    answers = ask_coordinators(calls, [group], call)
    return value_of(answers, group)


def _commit_request(group: str, offsets: Mapping[TopicPartition, CommittedOffset]) -> offset_commit.OffsetCommitRequest:
    by_topic: dict[str, list[offset_commit.OffsetCommitRequestPartition]] = {}
    for each, committed in offsets.items():
        by_topic.setdefault(each.topic, []).append(
            offset_commit.OffsetCommitRequestPartition(
                partition_index=each.partition,
                committed_offset=committed.offset,
                committed_leader_epoch=NO_EPOCH if committed.leader_epoch is None else committed.leader_epoch,
                committed_metadata=committed.metadata,
            )
        )
    return offset_commit.OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=NO_GENERATION,
        topics=[offset_commit.OffsetCommitRequestTopic(name=name, partitions=each) for name, each in by_topic.items()],
    )


def _commit_outcome(calls: Calls, group: str, answer: offset_commit.OffsetCommitResponse) -> Outcome[Problems]:
    problems: Problems = {}
    again: set[Again] = set()
    for topic in answer.topics:
        for each in topic.partitions:
            partition = TopicPartition(topic.name, each.partition_index)
            outcome = outcome_of(each.error_code) if each.error_code != ErrorCode.NONE else None
            if each.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
                outcome = Again.LOADING
            if isinstance(outcome, Again):
                again.add(outcome)
                continue
            problems[partition] = outcome
            if outcome is not None and outcome.code not in _EXPECTED_OF_COMMIT:
                complaint = (
                    f"OffsetCommit request for group id {group} and partition {partition} "
                    "failed due to unexpected error {error}."
                )
                log_unexpected(calls, _COMMIT_HANDLER, complaint, outcome)
    if again:
        return Again.MOVED if Again.MOVED in again else Again.LOADING
    return problems


def delete_group_offsets(calls: Calls, group: str, partitions: Collection[TopicPartition]) -> Problems:
    """Blocks. Returns each partition's error; None: it has no offset any more, or never had one.

    Raises the group's error: GroupIdNotFound, NonEmptyGroup ...
    """

    def ask(calls: Calls, node: Node, groups: list[str], deadline_s: float) -> Mapping[str, Outcome[Problems]]:
        request, response = offset_delete.OFFSET_DELETE_REQUEST, offset_delete.OFFSET_DELETE_RESPONSE
        call = Call("offsetDelete(api=OFFSET_DELETE)", request, response, lambda _: _delete_request(group, partitions))
        answer = calls.to_node_once(node.id, call, deadline_s)
        if answer.error_code != ErrorCode.NONE:
            return {group: outcome_of(answer.error_code)}
        problems: Problems = {
            TopicPartition(topic.name, each.partition_index): None
            if each.error_code == ErrorCode.NONE
            else error_class_for(each.error_code)()
            for topic in answer.topics
            for each in topic.partitions
        }
        return {group: problems}

    call = CoordinatorCall(
        "offsetDelete",
        "OFFSET_DELETE",
        "DeleteConsumerGroupOffsetsHandler",
        "`OffsetDelete` request for group id {group} failed due to unexpected error {error}.",
        ask,
        (
            ErrorCode.GROUP_AUTHORIZATION_FAILED,
            ErrorCode.GROUP_ID_NOT_FOUND,
            ErrorCode.INVALID_GROUP_ID,
            ErrorCode.NON_EMPTY_GROUP,
        ),
    )
    answers = ask_coordinators(calls, [group], call)
    problems = value_of(answers, group)
    for partition in partitions:
        text = f'Offset deletion result for partition "{partition}" was not included in the response'
        problems.setdefault(partition, IllegalArgumentException(text))
    return problems


def _delete_request(group: str, partitions: Iterable[TopicPartition]) -> offset_delete.OffsetDeleteRequest:
    by_topic: dict[str, list[offset_delete.OffsetDeleteRequestPartition]] = {}
    for topic, number in partitions:
        by_topic.setdefault(topic, []).append(offset_delete.OffsetDeleteRequestPartition(partition_index=number))
    topics = [offset_delete.OffsetDeleteRequestTopic(name=name, partitions=each) for name, each in by_topic.items()]
    return offset_delete.OffsetDeleteRequest(group_id=group, topics=topics)
