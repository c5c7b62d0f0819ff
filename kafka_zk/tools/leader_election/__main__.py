"""kafka-leader-election.sh: lets the controller elect leaders, preferred ones or unclean ones.

Source: org.apache.kafka.tools.LeaderElectionCommand.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from kafka_zk.client.errors import TimeoutException
from kafka_zk.protocol.errors import ClusterAuthorizationFailed, ElectionNotNeeded
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common import java_json
from kafka_zk.tools.common.command_config import api_timeout_ms, read_command_config
from kafka_zk.tools.common.election_failures import NOT_AUTHORIZED, TIMED_OUT, raise_failures, told
from kafka_zk.tools.common.election_file import listed_partitions
from kafka_zk.tools.common.endings import exit_code_of, run_as_program
from kafka_zk.tools.common.failures import FAILURES
from kafka_zk.tools.common.java_files import read_file
from kafka_zk.tools.common.java_output import JavaError, execution_error, partition_order, runtime_error, show_warnings
from kafka_zk.tools.common.options import Option, OptionError, Options

if TYPE_CHECKING:
    from kafka_zk.client.admin.admin_client import AdminClient
    from kafka_zk.client.admin.elections import ElectionType

ABOUT = (
    "This tool attempts to elect a new leader for a set of topic partitions. "
    "The type of elections supported are preferred replicas and unclean replicas."
)
OPTIONS = (
    *(
        Option(name, True)
        for name in ("bootstrap-server", "admin.config", "path-to-json-file", "topic", "partition", "election-type")
    ),
    *(Option(name) for name in ("all-topic-partitions", "help", "version")),
)
WHICH = ("topic", "all-topic-partitions", "path-to-json-file")
TIMEOUT_MS = 30_000


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    return exit_code_of(lambda: _run(words), tool="leader_election")


def _failed(message: str) -> JavaError:
    return JavaError(message, "org.apache.kafka.server.common.AdminCommandFailedException")


def _operation_failed(message: str) -> JavaError:
    return JavaError(message, "org.apache.kafka.server.common.AdminOperationException")


def _run(arguments: Sequence[str]) -> None:
    options = Options(OPTIONS, arguments)
    options.check_help_or_version(without_arguments=ABOUT, help_text=ABOUT)
    _check(options)
    election_type = _election_type(options)
    partitions = _partitions(options)
    properties = {
        "default.api.timeout.ms": str(TIMEOUT_MS),
        "request.timeout.ms": str(TIMEOUT_MS // 2),
        **read_command_config(options.text("admin.config")),
        "bootstrap.servers": options.text("bootstrap-server") or "",
    }
    show_warnings(api_timeout_ms(properties))
    from kafka_zk.client.admin.admin_client import AdminClient

    with AdminClient(properties) as admin:
        _elect(admin, election_type, partitions)


def _check(options: Options) -> None:
    missing = [name for name in ("bootstrap-server", "election-type") if not options.has(name)]
    if missing:
        raise _failed(f"Missing required option(s): {', '.join(missing)}")
    if sum(map(options.has, WHICH)) != 1:
        raise _failed(f"One and only one of the following options is required: {', '.join(WHICH)}")
    if options.has("topic") and not options.has("partition"):
        raise _failed("Missing required option(s): partition")
    if options.has("partition") and not options.has("topic"):
        raise _failed("Option partition is only allowed if topic is used")


def _election_type(options: Options) -> ElectionType:
    from kafka_zk.client.admin.elections import ElectionType

    text = options.text("election-type") or ""
    try:
        return ElectionType[text.upper()]
    except KeyError:
        error = OptionError(
            f"Cannot parse argument '{text}' of option election-type", "OptionArgumentConversionException"
        )
        known = ",".join(each.name for each in ElectionType)
        cause = JavaError(f"Value [{text}] is not one of [[{known}]]", "joptsimple.ValueConversionException")
        raise error from cause


def _partitions(options: Options) -> list[TopicPartition] | None:
    """Those of the file or of the command line; None for all. Raises JavaError."""
    path = options.text("path-to-json-file")
    topic, partition = options.text("topic"), options.integer("partition")
    if path is not None:
        return _from_file(path)
    return None if topic is None or partition is None else [TopicPartition(topic, partition)]


def _from_file(path: str) -> list[TopicPartition]:
    try:
        text = read_file(path)
    except JavaError as error:
        raise runtime_error(error) from error
    try:
        document = java_json.parsed(text)
    except ValueError:
        raise _operation_failed("Replica election data is empty") from None
    try:
        listed = listed_partitions(document)
    except JavaError as error:
        raise runtime_error(error) from error
    if listed is None:
        raise _operation_failed('Replica election data is missing "partitions" field')
    twice = [each for each in listed if listed.count(each) > 1]
    if twice:
        named = ", ".join(map(str, partition_order(twice)))
        raise _operation_failed(f"Replica election data contains duplicate partitions: [{named}]")
    return listed


def _elect(admin: AdminClient, election_type: ElectionType, partitions: Collection[TopicPartition] | None) -> None:
    """Blocks. Prints what became of each partition. Raises JavaError if one got no leader."""
    try:
        outcomes = admin.elect_leaders(election_type, partitions)
    except TimeoutException as error:
        raise told(TIMED_OUT, _failed) from error
    except ClusterAuthorizationFailed:
        raise told(NOT_AUTHORIZED, _failed) from None
    except FAILURES as error:
        cause = execution_error(error)
        cause.__cause__ = error
        raise runtime_error(cause) from cause
    order = partition_order(outcomes)
    elected = [str(each) for each in order if outcomes[each] is None]
    if elected:
        listed = ", ".join(elected)
        print(f"Successfully completed leader election ({election_type.name}) for partitions {listed}")
    fine = [str(each) for each in order if isinstance(outcomes[each], ElectionNotNeeded)]
    if fine:
        print(f"Valid replica already elected for partitions {', '.join(fine)}")
    raise_failures(
        {each: outcomes[each] for each in order},
        _failed,
        election=f"leader election ({election_type.name})",
        replicas="replica(s)",
    )


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
