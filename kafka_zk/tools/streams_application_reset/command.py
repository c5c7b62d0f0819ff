"""One run of kafka-streams-application-reset.sh: its checks, and what it resets in which order."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.tools.common.command_config import api_timeout_ms, read_command_config
from kafka_zk.tools.common.endings import exit_code_of
from kafka_zk.tools.common.java_output import (
    JavaError,
    awaited,
    hash_order,
    illegal_argument,
    partition_order,
    show_warnings,
    stack_trace,
)
from kafka_zk.tools.common.options import Options
from kafka_zk.tools.common.program import Shutdown
from kafka_zk.tools.streams_application_reset.options import (
    application_id,
    bootstrap_servers,
    is_inferred_internal_topic,
    parsed,
)

if TYPE_CHECKING:
    from kafka_zk.client.admin.admin_client import AdminClient
    from kafka_zk.client.admin.group_results import MemberDescription

TOOL = "streams_application_reset"
DESCRIBE_TIMEOUT_MS = 10_000
DRY_RUN = "----Dry run displays the actions which will be performed when running Streams Reset Tool----"


def work(arguments: Sequence[str], _: Shutdown) -> int:
    """A signal needs no hook: a consumer that only seeks and commits leaves no group behind."""
    return exit_code_of(lambda: _run(parsed(arguments, _about())), tool=TOOL, tell=_tell)


def _tell(error: Exception) -> None:
    trace = stack_trace(error)
    print(f"ERROR: {trace.partition(chr(10))[0]}", file=sys.stderr)
    print(trace, end="", file=sys.stderr)


def _about() -> str:
    return files(f"kafka_zk.tools.{TOOL}").joinpath("about.txt").read_text("utf-8")


def _run(options: Options) -> int:
    group = application_id(options)
    properties = {
        **read_command_config(options.text("config-file")),
        "bootstrap.servers": bootstrap_servers(options),
    }
    show_warnings(api_timeout_ms(properties))
    from kafka_zk.client.admin.admin_client import AdminClient

    with AdminClient(properties) as admin:
        _remove_members(admin, group, force=options.has("force"))
        try:
            all_topics = hash_order(topic.name for topic in admin.list_topics())
        except (BrokerError, KafkaException) as error:
            raise awaited(error) from error
        if options.has("dry-run"):
            print(DRY_RUN)
        from kafka_zk.tools.streams_application_reset.seeking import reset_and_seek

        code = reset_and_seek(options, properties, all_topics)
        _delete_internal_topics(admin, options, all_topics)
        return code


def _remove_members(admin: AdminClient, group: str, *, force: bool) -> None:
    """Blocks. Raises JavaError while the group has members, unless they may be removed."""
    from kafka_zk.client.admin.coordinators import value_of

    try:
        members = value_of(admin.describe_consumer_groups([group], timeout_ms=DESCRIBE_TIMEOUT_MS), group).members
        if not members:
            return
        if force:
            print(f"Force deleting all active members in the group: {group}")
            admin.remove_members_from_consumer_group(group)
            return
    except (BrokerError, KafkaException) as error:
        raise awaited(error) from error
    listed = ", ".join(map(_member_text, members))
    raise JavaError(
        f"Consumer group '{group}' is still active and has following members: [{listed}]. "
        "Make sure to stop all running application instances before running the reset tool."
        " You can use option '--force' to remove active members from the group.",
        "java.lang.IllegalStateException",
    )


def _member_text(member: MemberDescription) -> str:
    capacity = int(len(member.assignment) / 0.75) + 1
    partitions = ",".join(map(str, partition_order(member.assignment, max(16, capacity))))
    return (
        f"(memberId={member.member_id}, groupInstanceId={member.group_instance_id or 'null'}, "
        f"clientId={member.client_id}, host={member.host}, assignment=(topicPartitions={partitions}), "
        "targetAssignment=Optional.empty)"
    )


def _delete_internal_topics(admin: AdminClient, options: Options, all_topics: Collection[str]) -> None:
    """Blocks. Raises JavaError."""
    inferred = [topic for topic in all_topics if is_inferred_internal_topic(options, topic)]
    specified = options.texts("internal-topics")
    if not set(specified) <= set(inferred):
        raise illegal_argument(
            "Invalid topic specified in the --internal-topics option. "
            "Ensure that the topics specified are all internal topics. "
            "Do a dry run without the --internal-topics option to see the "
            "list of all internal topics that can be deleted."
        )
    topics = specified or inferred
    print(f"Deleting {'specified' if specified else 'inferred'} internal topics [{', '.join(topics)}]")
    if not options.has("dry-run"):
        _delete(admin, topics)
    print("Done.")


def _delete(admin: AdminClient, topics: Sequence[str]) -> None:
    has_failed = False
    for topic in hash_order(topics, len(topics)):
        try:
            admin.delete_topics([topic])
        except (BrokerError, KafkaException) as error:
            print(f"ERROR: deleting topic {topic}", file=sys.stderr)
            print(stack_trace(awaited(error)), end="", file=sys.stderr)
            has_failed = True
    if has_failed:
        raise JavaError("Encountered an error deleting one or more topics", "java.lang.RuntimeException")
