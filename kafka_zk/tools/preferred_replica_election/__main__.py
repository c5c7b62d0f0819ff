"""kafka-preferred-replica-election.sh: gives partitions back to their preferred leaders, as the tool of 2.8 did.

`--bootstrap-server` asks the brokers; `--zookeeper` leaves a request in ZooKeeper, which the controller takes up.
Source: kafka.admin.PreferredReplicaLeaderElectionCommand of 2.8; 3.9 has kafka-leader-election.sh instead.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from kafka_zk.client.errors import TimeoutException
from kafka_zk.java_hash import in_scala_order, partition_hash
from kafka_zk.protocol.errors import ClusterAuthorizationFailed, ElectionNotNeeded
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common import java_json
from kafka_zk.tools.common.command_config import api_timeout_ms, read_command_config
from kafka_zk.tools.common.election_failures import NOT_AUTHORIZED, TIMED_OUT, raise_failures, told
from kafka_zk.tools.common.election_file import listed_partitions
from kafka_zk.tools.common.endings import exit_code_of, run_as_program, tell_as_thrown
from kafka_zk.tools.common.failures import FAILURES
from kafka_zk.tools.common.java_files import read_file
from kafka_zk.tools.common.java_output import JavaError, execution_error, show_warnings
from kafka_zk.tools.common.options import Option, Options, UsageError

if TYPE_CHECKING:
    from kafka_zk.zk.session import ZkClient

DEPRECATED = "This tool is deprecated. Please use kafka-leader-election tool. Tracking issue: KAFKA-8405"
ABOUT = (
    "This tool helps to causes leadership for each partition to be transferred back to the 'preferred replica', "
    "it can be used to balance leadership among the servers."
)
OPTIONS = (
    *(Option(name, True) for name in ("path-to-json-file", "zookeeper", "bootstrap-server")),
    Option("admin.config", True, available_beside=("bootstrap-server",)),
    *(Option(name) for name in ("help", "version")),
)
TIMEOUT_MS = 30_000
SMALL_SET = 4
"""Scala prints larger immutable sets under another name."""


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    print(DEPRECATED)
    return exit_code_of(lambda: _run(words), tool="preferred_replica_election", tell=tell_as_thrown)


def _failed(message: str) -> JavaError:
    return JavaError(message, "kafka.common.AdminCommandFailedException")


def _operation_failed(message: str) -> JavaError:
    return JavaError(message, "kafka.admin.AdminOperationException")


def _run(arguments: Sequence[str]) -> None:
    options = Options(OPTIONS, arguments)
    options.check_help_or_version(without_arguments=ABOUT, help_text=ABOUT)
    if options.has("bootstrap-server") == options.has("zookeeper"):
        raise UsageError("Exactly one of '[bootstrap-server]' or '[zookeeper]' must be provided")
    path = options.text("path-to-json-file")
    partitions = None if path is None else _from_file(path)
    if options.has("zookeeper"):
        _ask_in_zookeeper(options, partitions)
    else:
        _ask_brokers(options, partitions)


def _from_file(path: str) -> list[TopicPartition]:
    try:
        document = java_json.parsed(read_file(path))
    except ValueError:
        raise _operation_failed("Preferred replica election data is empty") from None
    listed = listed_partitions(document, integer="Int")
    if listed is None:
        raise _operation_failed("Preferred replica election data is empty")
    twice = [each for each in in_scala_order(dict.fromkeys(listed), partition_hash) if listed.count(each) > 1]
    if twice:
        named = ",".join(map(str, twice))
        raise _operation_failed(f"Preferred replica election data contains duplicate partitions: {named}")
    return listed


# --- through ZooKeeper -----------------------------------------------------------------------------------------------


def _ask_in_zookeeper(options: Options, wanted: Sequence[TopicPartition] | None) -> None:
    print("Warning: --zookeeper is deprecated and will be removed in a future version of Kafka.")
    print("Use --bootstrap-server instead to specify a broker to connect to.")
    show_warnings()
    from kafka_zk.tools.common.zookeeper_option import connected
    from kafka_zk.zk.errors import ZkError

    with connected(options) as zk:
        try:
            _write_request(zk, wanted)
        except (JavaError, ZkError) as error:
            raise _failed("Admin command failed") from error


def _write_request(zk: ZkClient, wanted: Sequence[TopicPartition] | None) -> None:
    from kafka_zk.zk.errors import NodeExists, NoNode
    from kafka_zk.zk.topics import topic_assignments, topic_names
    from kafka_zk.zk.znodes import PreferredReplicaElectionZNode

    try:
        topics = topic_names(zk) if wanted is None else [*dict.fromkeys(each.topic for each in wanted)]
    except NoNode:
        topics = []
    existing = [
        TopicPartition(name, index)
        for name, topic in topic_assignments(zk, topics).items()
        for index in sorted(topic.partitions)
    ]
    valid = existing if wanted is None else [each for each in wanted if each in existing]
    try:
        zk.create(PreferredReplicaElectionZNode.PATH, PreferredReplicaElectionZNode.encode(valid), make_parents=True)
    except NodeExists:
        data, stat = zk.get(PreferredReplicaElectionZNode.PATH)
        ongoing = ",".join(map(str, PreferredReplicaElectionZNode.decode(data, stat)))
        raise _operation_failed(
            f"Preferred replica leader election currently in progress for {ongoing}. Aborting operation"
        ) from None
    print(f"Created preferred replica election path with {','.join(map(str, valid))}")
    print(f"Successfully started preferred replica election for partitions {_scala_set(valid)}")
    for partition in wanted or ():
        if partition not in valid:
            print(f"Skipping preferred replica leader election for partition {partition} since it doesn't exist.")


def _scala_set(partitions: Collection[TopicPartition]) -> str:
    name = "Set" if len(partitions) <= SMALL_SET else "HashSet"
    return f"{name}({', '.join(map(str, partitions))})"


# --- through the brokers ---------------------------------------------------------------------------------------------


def _ask_brokers(options: Options, wanted: Sequence[TopicPartition] | None) -> None:
    properties = {
        **read_command_config(options.text("admin.config")),
        "bootstrap.servers": options.text("bootstrap-server") or "",
        "request.timeout.ms": str(TIMEOUT_MS),
        "default.api.timeout.ms": str(TIMEOUT_MS * 2),
    }
    show_warnings(api_timeout_ms(properties))
    from kafka_zk.client.admin.admin_client import AdminClient
    from kafka_zk.client.admin.elections import ElectionType

    with AdminClient(properties) as admin:
        try:
            outcomes = admin.elect_leaders(ElectionType.PREFERRED, wanted)
        except TimeoutException as error:
            raise told(TIMED_OUT, _failed) from error
        except ClusterAuthorizationFailed as error:
            raise told(NOT_AUTHORIZED, _failed) from error
        except FAILURES as error:
            raise execution_error(error) from error
    order = in_scala_order(outcomes, partition_hash)
    elected = ", ".join(str(each) for each in order if outcomes[each] is None)
    if elected:
        print(f"Successfully completed preferred leader election for partitions {elected}")
    if any(isinstance(error, ElectionNotNeeded) for error in outcomes.values()):
        # It names those that were elected, not those that needed nothing, as 2.8 does.
        print(f"Preferred replica already elected for partitions {elected}")
    raise_failures(
        {each: outcomes[each] for each in order},
        _failed,
        election="preferred leader election",
        replicas="preferred replica(s)",
    )


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
