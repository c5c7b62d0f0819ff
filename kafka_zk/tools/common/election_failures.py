"""What both election tools say of elections that failed: of all of them, or of single partitions.

Role        Prints. A tool's own `failed` makes the exception of a sentence.
Source      LeaderElectionCommand.electLeaders of 3.9, PreferredReplicaLeaderElectionCommand of 2.8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kafka_zk.client.errors import KafkaException, java_name
from kafka_zk.protocol.errors import BrokerError, ElectionNotNeeded
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.java_output import JavaError

TIMED_OUT = "Timeout waiting for election results"
NOT_AUTHORIZED = "Not authorized to perform leader election"

Outcomes = Mapping[TopicPartition, BrokerError | KafkaException | None]
Failed = Callable[[str], JavaError]


def told(message: str, failed: Failed) -> JavaError:
    """The exception of a sentence that is printed, too."""
    print(message)
    return failed(message)


def raise_failures(outcomes: Outcomes, failed: Failed, *, election: str, replicas: str) -> None:
    """Print a line for each partition that got no leader, in the order of `outcomes`. Raises JavaError if any did.

    `election` and `replicas`: the tool's words for what it did, and for what was not elected.
    """
    failures = []
    for partition, outcome in outcomes.items():
        if outcome is not None and not isinstance(outcome, ElectionNotNeeded):
            text = f"{java_name(outcome)}: {outcome}"
            print(f"Error completing {election} for partition: {partition}: {text}")
            failures.append(outcome)
    if failures:
        error = failed(f"{len(failures)} {replicas} could not be elected")
        error.suppressed = failures
        raise error
