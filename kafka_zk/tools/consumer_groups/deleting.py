"""--delete and --delete-offsets: deletes groups or committed offsets.

Role        Asks and prints.
Source      ConsumerGroupCommand: deleteGroups, deleteOffsets.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_zk.client.errors import KafkaException, TimeoutException
from kafka_zk.protocol.errors import BrokerError, ErrorCode
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.java_output import JavaError, awaited, copied_order, hash_order, partition_order, utf16_order
from kafka_zk.tools.consumer_groups.output import print_error
from kafka_zk.tools.consumer_groups.questions import CLIENT_ERRORS, Questions, topic_partitions

_WHOLE_TOPIC = -1
_REFUSALS = {
    ErrorCode.INVALID_GROUP_ID: "'{group}' is not valid.",
    ErrorCode.GROUP_ID_NOT_FOUND: "'{group}' does not exist.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Access to '{group}' is not authorized.",
    ErrorCode.NON_EMPTY_GROUP: (
        "Deleting offsets of a consumer group '{group}' is forbidden if the group is not empty."
    ),
    **dict.fromkeys(
        (
            ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ),
        "Encounter some partition level error, see the follow-up details:",
    ),
}


def delete_groups(questions: Questions) -> None:
    """Blocks. Raises JavaError."""
    groups = questions.groups()
    outcomes = questions.admin.delete_consumer_groups(groups, timeout_ms=questions.timeout_ms)
    order = copied_order(outcomes)
    failed = hash_order(group for group in order if outcomes[group] is not None)
    deleted = hash_order(group for group in order if outcomes[group] is None)
    if not failed:
        print(f"Deletion of requested consumer groups ('{', '.join(deleted)}') was successful.")
        return
    print_error("Deletion of some consumer groups failed:")
    for group in failed:
        error = outcomes[group]
        assert error is not None, "it failed"
        failure = awaited(error)
        print(f"* Group '{group}' could not be deleted due to: {failure.java_class}: {failure}")
    if deleted:
        # The quotation marks are Apache's.
        listed = "'".join(deleted)
        print(f"\nThese consumer groups were deleted successfully: '{listed}', '")


def delete_offsets(questions: Questions) -> None:
    """Blocks. Raises JavaError."""
    group = questions.options.text("group")
    assert group is not None, "checked before"
    topics = questions.options.texts("topic")
    outcomes: dict[TopicPartition, JavaError | None] = {}
    partitions = _partitions(questions, topics, outcomes)
    try:
        problems = questions.admin.delete_consumer_group_offsets(group, partitions, timeout_ms=questions.timeout_ms)
        first = next((problems[each] for each in partitions if problems[each] is not None), None)
    except CLIENT_ERRORS as error:
        problems, first = dict.fromkeys(partitions, error), error
    for each in partitions:
        problem = problems[each]
        outcomes[each] = None if problem is None else awaited(problem)
    _print_verdict(group, topics, first)
    print("\n" + _row("TOPIC", "PARTITION", "STATUS"), end="")
    for each in sorted(outcomes, key=lambda each: utf16_order(f"{each.topic}{each.partition}")):
        failure = outcomes[each]
        number = "Not Provided" if each.partition == _WHOLE_TOPIC else str(each.partition)
        print(_row(each.topic, number, "Successful" if failure is None else f"Error: :{failure}"), end="")


def _partitions(
    questions: Questions, topics: Sequence[str], outcomes: dict[TopicPartition, JavaError | None]
) -> list[TopicPartition]:
    """Blocks. The partitions that --topic means; a topic that cannot be looked up goes to the outcomes."""
    found = [each for topic in hash_order(topics) if ":" in topic for each in topic_partitions(topic)]
    for topic in hash_order(topic for topic in topics if ":" not in topic):
        try:
            found += questions.partitions_of([topic])
        except JavaError as error:
            if not isinstance(error.__cause__, CLIENT_ERRORS):
                raise
            outcomes[TopicPartition(topic, _WHOLE_TOPIC)] = error
    return partition_order(found)


def _print_verdict(group: str, topics: Sequence[str], error: BrokerError | KafkaException | None) -> None:
    if error is None:
        print(f"Request succeed for deleting offsets with topic {', '.join(topics)} group {group}")
        return
    code = _code_of(error)
    print_error(_REFUSALS.get(code, "Encounter some unknown error: {code}").format(group=group, code=code.name))


def _code_of(error: BrokerError | KafkaException) -> ErrorCode:
    """Errors.forException."""
    if isinstance(error, BrokerError):
        return error.code
    return ErrorCode.REQUEST_TIMED_OUT if isinstance(error, TimeoutException) else ErrorCode.UNKNOWN_SERVER_ERROR


def _row(topic: str, partition: str, status: str) -> str:
    return f"{topic:30} {partition:15} {status:15}"
