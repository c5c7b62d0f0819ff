"""One run of kafka-verifiable-consumer.sh: consumes, and prints every event."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_zk.client.consumer.listener import ConsumerRebalanceListener
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError, FencedInstanceId
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.argparse4j import (
    INTEGER,
    Argument,
    ArgumentError,
    ArgumentParser,
    Kind,
    run_parsed,
)
from kafka_zk.tools.common.command_config import read_command_config
from kafka_zk.tools.common.failures import FAILURES
from kafka_zk.tools.common.java_output import JavaError, log_error, show_warnings, stack_trace
from kafka_zk.tools.common.program import Shutdown
from kafka_zk.tools.common.verifiable_events import EventPrinter

if TYPE_CHECKING:
    from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
    from kafka_zk.client.consumer.records import ConsumerRecords, OffsetAndMetadata

LOGGER = "org.apache.kafka.tools.VerifiableConsumer"
PARSER = ArgumentParser(
    "verifiable-consumer",
    (
        Argument("--bootstrap-server", group="connection"),
        Argument("--broker-list", group="connection"),
        Argument("--topic", required=True),
        Argument("--group-protocol", default="classic"),
        Argument("--group-remote-assignor"),
        Argument("--group-id", required=True),
        Argument("--group-instance-id"),
        Argument("--max-messages", INTEGER, default=-1),
        Argument("--session-timeout", INTEGER, default=30000),
        Argument("--verbose", kind=Kind.FLAG),
        Argument("--enable-autocommit", kind=Kind.FLAG),
        Argument("--reset-policy", default="earliest"),
        Argument("--assignment-strategy", default="org.apache.kafka.clients.consumer.RangeAssignor"),
        Argument("--consumer.config"),
    ),
    "verifiable_consumer",
)
POLL_S = 600.0


def work(arguments: Sequence[str], shutdown: Shutdown) -> int:
    return run_parsed(PARSER, arguments, lambda values: _consume(values, shutdown))


def _consume(values: Mapping[str, Any], shutdown: Shutdown) -> None:
    properties = consumer_properties(values)
    show_warnings()
    from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer

    deserializers = dict.fromkeys(("key.deserializer", "value.deserializer"), "StringDeserializer")
    tool = VerifiableConsumer(KafkaConsumer({**properties, **deserializers}), values)
    shutdown.add(tool.finish)
    tool.run()


def consumer_properties(values: Mapping[str, Any]) -> dict[str, str]:
    """The options override the file's properties. Raises ArgumentError for a file that cannot be read."""
    try:
        properties = read_command_config(values["consumer.config"])
    except JavaError as error:
        raise ArgumentError(str(error)) from None
    if values["group-protocol"].lower() == "consumer":
        properties["group.protocol"] = values["group-protocol"]
        if values["group-remote-assignor"] is not None:
            properties["group.remote.assignor"] = values["group-remote-assignor"]
    else:
        properties["partition.assignment.strategy"] = values["assignment-strategy"]
    if values["group-instance-id"] is not None:
        properties["group.instance.id"] = values["group-instance-id"]
    return {
        **properties,
        "group.id": values["group-id"],
        "bootstrap.servers": values["bootstrap-server"] or values["broker-list"],
        "enable.auto.commit": "true" if values["enable-autocommit"] else "false",
        "auto.offset.reset": values["reset-policy"],
        "session.timeout.ms": str(values["session-timeout"]),
    }


class VerifiableConsumer(ConsumerRebalanceListener):
    """One run."""

    def __init__(self, consumer: KafkaConsumer, values: Mapping[str, Any]) -> None:
        self._consumer = consumer
        self._topic: str = values["topic"]
        self._limit: int = values["max-messages"]
        self._commits: bool = not values["enable-autocommit"]
        self._is_verbose: bool = values["verbose"]
        self._tell = EventPrinter()
        self._over = threading.Event()
        self._count = 0

    def finish(self) -> None:
        """Blocks. Make `run` end."""
        self._consumer.wakeup()
        self._over.wait()

    def run(self) -> None:
        """Blocks until --max-messages are consumed, or `finish` is called from another thread."""
        from kafka_zk.client.consumer.errors import WakeupException

        try:
            self._tell("startup_complete")
            self._consumer.subscribe([self._topic], self)
            while not self._is_finished():
                records = self._consumer.poll(POLL_S)
                if records:
                    offsets = self._take(records)
                    if self._commits:
                        self._commit(offsets)
        except WakeupException:
            pass
        except FAILURES as error:
            log_error(LOGGER, "Error during processing, terminating consumer process: ", stack_trace(error))
        finally:
            try:
                self._consumer.close()
                self._tell("shutdown_complete")
            finally:
                self._over.set()

    def _is_finished(self) -> bool:
        return 0 <= self._limit <= self._count

    def _take(self, records: ConsumerRecords) -> dict[TopicPartition, OffsetAndMetadata]:
        """Report the records, and return the offsets to commit."""
        from kafka_zk.client.consumer.records import OffsetAndMetadata

        offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        summaries = []
        for partition in records.partitions:
            taken = records.of(partition)
            if self._limit >= 0:
                taken = taken[: self._limit - self._count]
            if not taken:
                continue
            offsets[partition] = OffsetAndMetadata(taken[-1].offset + 1)
            summaries.append(
                {
                    "topic": partition.topic,
                    "partition": partition.partition,
                    "count": len(taken),
                    "minOffset": taken[0].offset,
                    "maxOffset": taken[-1].offset,
                }
            )
            if self._is_verbose:
                for record in taken:
                    self._tell(
                        "record_data",
                        key=record.key,
                        value=record.value,
                        topic=record.topic,
                        partition=record.partition,
                        offset=record.offset,
                    )
            self._count += len(taken)
            if self._is_finished():
                break
        self._tell("records_consumed", count=len(records), partitions=summaries)
        return offsets

    def _commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        from kafka_zk.client.consumer.errors import WakeupException

        try:
            self._consumer.commit_sync(offsets)
        except WakeupException:
            # Only `finish` wakes it, and only once: the second try is not interrupted.
            self._commit(offsets)
            raise
        except FencedInstanceId:
            raise
        except (KafkaException, BrokerError) as error:
            self._tell_commit(offsets, error)
        else:
            self._tell_commit(offsets, None)

    def _tell_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], error: Exception | None) -> None:
        committed = [
            {"topic": partition.topic, "partition": partition.partition, "offset": position.offset}
            for partition, position in offsets.items()
        ]
        failure = {} if error is None or not error.args else {"error": str(error)}
        self._tell("offsets_committed", offsets=committed, **failure, success=error is None)

    # --- as the listener of rebalances -------------------------------------------------------------------------------

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self._tell("partitions_revoked", partitions=_listed(partitions))

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self._tell("partitions_assigned", partitions=_listed(partitions))


def _listed(partitions: Sequence[TopicPartition]) -> list[dict[str, Any]]:
    return [{"topic": each.topic, "partition": each.partition} for each in partitions]
