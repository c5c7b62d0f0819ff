"""kafka-transactions.sh: lists and describes transactions and producers, finds hanging transactions, aborts them.

Source      org.apache.kafka.tools.TransactionsCommand.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.argparse4j import INTEGER, LONG, SHORT, Argument, ArgumentParser, Kind
from kafka_zk.tools.common.command_config import api_timeout_ms, read_command_config
from kafka_zk.tools.common.endings import exit_code_of, run_as_program, tell_as_thrown
from kafka_zk.tools.common.failures import FAILURES, Refused
from kafka_zk.tools.common.java_output import JavaError, hash_order_by, partition_order, show_warnings
from kafka_zk.tools.common.options import VERSION_TEXT, VersionAsked
from kafka_zk.tools.common.subcommands import choose_command
from kafka_zk.tools.transactions.output import failed, or_none, table

if TYPE_CHECKING:
    from kafka_zk.client.admin.admin_client import AdminClient
    from kafka_zk.client.admin.transaction_results import AbortTransactionSpec, ProducerState

VERSION_WITH_COMMIT = f"{VERSION_TEXT} (Commit:f745dfdcee2b9851)"
"""Apache's, of the release whose behaviour this is."""
LONGEST_TIMEOUT_MINUTES = 15

TOPIC, PARTITION = Argument("--topic", required=True), Argument("--partition", INTEGER, required=True)
PROGRAM = ArgumentParser(
    "kafka-transactions.sh",
    (
        Argument("--version", kind=Kind.VERSION, short="-v"),
        Argument("--command-config"),
        Argument("--bootstrap-server", required=True),
    ),
    "transactions",
)
COMMANDS = {
    name: ArgumentParser("kafka-transactions.sh", arguments, "transactions", name)
    for name, arguments in {
        "list": (Argument("--duration-filter", LONG),),
        "describe": (Argument("--transactional-id", required=True),),
        "describe-producers": (Argument("--broker-id", INTEGER), TOPIC, PARTITION),
        "abort": (
            TOPIC,
            PARTITION,
            Argument("--start-offset", LONG),
            Argument("--producer-id", LONG),
            Argument("--producer-epoch", SHORT),
            Argument("--coordinator-epoch", INTEGER),
        ),
        "find-hanging": (
            Argument("--broker-id", INTEGER),
            Argument("--max-transaction-timeout", INTEGER, default=LONGEST_TIMEOUT_MINUTES),
            Argument("--topic"),
            Argument("--partition", INTEGER),
        ),
    }.items()
}
LISTED = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
DESCRIBED = (
    "CoordinatorId",
    "TransactionalId",
    "ProducerId",
    "ProducerEpoch",
    "TransactionState",
    "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs",
    "TransactionDurationMs",
    "TopicPartitions",
)
PRODUCERS = (
    "ProducerId",
    "ProducerEpoch",
    "LatestCoordinatorEpoch",
    "LastSequence",
    "LastTimestamp",
    "CurrentTransactionStartOffset",
)


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        chosen = choose_command(PROGRAM, COMMANDS, list(sys.argv[1:] if arguments is None else arguments))
    except VersionAsked:
        print(VERSION_WITH_COMMIT)
        return 0
    if isinstance(chosen, int):
        return chosen
    return exit_code_of(lambda: _run(*chosen), tool="transactions", tell=tell_as_thrown)


def _run(command: str, values: Mapping[str, Any]) -> None:
    try:
        properties = {**read_command_config(values["command-config"]), "bootstrap.servers": values["bootstrap-server"]}
    except JavaError as error:
        raise failed("Failed to load admin client properties", error) from error
    show_warnings(api_timeout_ms(properties))
    from kafka_zk.client.admin.admin_client import AdminClient

    with AdminClient(properties) as admin:
        if command == "list":
            print(_list(admin, values["duration-filter"]), end="")
        elif command == "describe":
            print(_describe(admin, values["transactional-id"]), end="")
        elif command == "describe-producers":
            print(_describe_producers(admin, _partition(values), values["broker-id"]), end="")
        elif command == "abort":
            _abort(admin, values)
        else:
            from kafka_zk.tools.transactions.hanging import find_hanging

            print(find_hanging(admin, values), end="")


def _partition(values: Mapping[str, Any]) -> TopicPartition:
    return TopicPartition(values["topic"], values["partition"])


# --- list, describe --------------------------------------------------------------------------------------------------


def _list(admin: AdminClient, longer_than_ms: int | None) -> str:
    try:
        found = admin.list_transactions(longer_than_ms=-1 if longer_than_ms is None else longer_than_ms)
    except FAILURES as error:
        raise failed("Failed to list transactions", error) from error
    rows = [
        (each.transactional_id, broker_id, each.producer_id, each.state)
        for broker_id in hash_order_by(found, int)
        for each in found[broker_id]
    ]
    return table(LISTED, rows)


def _describe(admin: AdminClient, transactional_id: str) -> str:
    found = admin.describe_transactions([transactional_id])[transactional_id]
    if isinstance(found, Exception):
        raise failed(f"Failed to describe transaction state of transactional-id `{transactional_id}`", found)
    start_ms = found.start_time_ms
    row = (
        found.coordinator_id,
        transactional_id,
        found.producer_id,
        found.producer_epoch,
        found.state,
        found.timeout_ms,
        or_none(start_ms),
        or_none(None if start_ms is None else time.time_ns() // 1_000_000 - start_ms),
        ",".join(map(str, partition_order(found.partitions))),
    )
    return table(DESCRIBED, [row])


def _describe_producers(admin: AdminClient, partition: TopicPartition, broker_id: int | None) -> str:
    found = admin.describe_producers([partition], broker_id=broker_id)[partition]
    if not isinstance(found, list):
        where = "leader" if broker_id is None else f"broker {broker_id}"
        raise failed(f"Failed to describe producers for partition {partition} on {where}", found)
    return table(PRODUCERS, [_producer_row(producer) for producer in found])


def _producer_row(producer: ProducerState) -> tuple[object, ...]:
    return (
        producer.producer_id,
        producer.producer_epoch,
        -1 if producer.coordinator_epoch is None else producer.coordinator_epoch,
        producer.last_sequence,
        producer.last_timestamp_ms,
        or_none(producer.transaction_start_offset),
    )


# --- abort -----------------------------------------------------------------------------------------------------------


def _abort(admin: AdminClient, values: Mapping[str, Any]) -> None:
    spec = _named_transaction(values) if values["start-offset"] is None else _transaction_at(admin, values)
    try:
        admin.abort_transaction(spec)
    except FAILURES as error:
        raise failed(f"Failed to abort transaction {spec}", error) from error


def _named_transaction(values: Mapping[str, Any]) -> AbortTransactionSpec:
    """The transaction as it must be named to brokers before 3.0, which do not describe producers."""
    from kafka_zk.client.admin.transaction_results import AbortTransactionSpec

    if values["producer-id"] is None:
        raise Refused(
            "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) "
            "or with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
        )
    for needed in ("producer-epoch", "coordinator-epoch"):
        if values[needed] is None:
            raise Refused(f"Missing required argument --{needed}")
    # Of a producer that got no marker yet, the epoch is -1; 0 is not above the epoch of any coordinator.
    return AbortTransactionSpec(
        _partition(values), values["producer-id"], values["producer-epoch"], max(0, values["coordinator-epoch"])
    )


def _transaction_at(admin: AdminClient, values: Mapping[str, Any]) -> AbortTransactionSpec:
    """The transaction that starts at --start-offset, as the partition's leader knows it."""
    from kafka_zk.client.admin.transaction_results import AbortTransactionSpec

    partition, start_offset = _partition(values), values["start-offset"]
    found = admin.describe_producers([partition])[partition]
    if not isinstance(found, list):
        raise failed(f"Failed to validate producer state for partition {partition}", found)
    for producer in found:
        if producer.transaction_start_offset == start_offset:
            return AbortTransactionSpec(
                partition, producer.producer_id, producer.producer_epoch, producer.coordinator_epoch or 0
            )
    raise Refused(f"Could not find any open transactions starting at offset {start_offset} on partition {partition}")


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
