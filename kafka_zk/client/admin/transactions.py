"""Lists and describes transactions.

Role        Acts, through `Calls`. Every broker is asked for lists, each id's coordinator for descriptions.
Source      KafkaAdminClient.listTransactions, describeTransactions; ListTransactionsHandler, AllBrokersStrategy,
            DescribeTransactionsHandler.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence

from kafka_zk.client.admin.admin_results import Node
from kafka_zk.client.admin.calls import Call, Calls
from kafka_zk.client.admin.coordinators import Again, CoordinatorCall, KeyType, Outcome, ask_coordinators, outcome_of
from kafka_zk.client.admin.transaction_results import TransactionDescription, TransactionListing, TransactionState
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import (
    BrokerError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    ErrorCode,
    UnsupportedVersion,
    error_class_for,
)
from kafka_zk.protocol.messages import describe_transactions, list_transactions
from kafka_zk.protocol.types import TopicPartition

LIST_NAME, DESCRIBE_NAME = "listTransactions", "describeTransactions"
DURATIONS_SINCE = 1
ANY_DURATION = -1
_LIST_LOGGER = "org.apache.kafka.clients.admin.internals.ListTransactionsHandler"
_REASONS = {
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "due to authorization failure",
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: "because the ID could not be found",
}


# --- listing ---------------------------------------------------------------------------------------------------------


def list_transactions_by_broker(
    calls: Calls,
    broker_ids: Sequence[int],
    *,
    states: Collection[TransactionState] = (),
    producer_ids: Collection[int] = (),
    longer_than_ms: int = ANY_DURATION,
) -> dict[int, list[TransactionListing]]:
    """Blocks. The transactions of each coordinator, in the order of its response. Raises the first error."""
    wanted = list_transactions.ListTransactionsRequest(
        state_filters=list(map(str, states)),
        producer_id_filters=list(producer_ids),
        duration_filter=longer_than_ms,
    )
    found: dict[int, list[TransactionListing]] = {}
    errors: list[BrokerError | KafkaException] = []
    for broker_id in broker_ids:
        try:
            found[broker_id] = _transactions_of(calls, broker_id, wanted)
        except (BrokerError, KafkaException) as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return found


def _transactions_of(
    calls: Calls, broker_id: int, wanted: list_transactions.ListTransactionsRequest
) -> list[TransactionListing]:
    def build(version: int) -> list_transactions.ListTransactionsRequest:
        if wanted.duration_filter >= 0 and version < DURATIONS_SINCE:
            raise UnsupportedVersion(
                f"Duration filter can be set only when using API version {DURATIONS_SINCE} or higher. If client is "
                "connected to an older broker, do not specify duration filter or set duration filter to -1."
            )
        return wanted

    def check(answer: list_transactions.ListTransactionsResponse) -> None:
        error = _listing_error(calls, broker_id, answer.error_code)
        if error is not None:
            raise error

    request, response = list_transactions.LIST_TRANSACTIONS_REQUEST, list_transactions.LIST_TRANSACTIONS_RESPONSE
    call = Call(f"{LIST_NAME}(api=LIST_TRANSACTIONS)", request, response, build, check, (CoordinatorLoadInProgress,))
    return [
        TransactionListing(each.transactional_id, each.producer_id, TransactionState.parse(each.transaction_state))
        for each in calls.to_node(broker_id, call).transaction_states
    ]


def _listing_error(calls: Calls, broker_id: int, error_code: int) -> BrokerError | None:
    if error_code == ErrorCode.NONE:
        return None
    if error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return CoordinatorLoadInProgress()
    if error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE:
        return CoordinatorNotAvailable(
            f"ListTransactions request sent to broker {broker_id} failed because the coordinator is shutting down"
        )
    error = error_class_for(error_code)(
        f"ListTransactions request sent to broker {broker_id} failed with an unexpected exception"
    )
    text = f"The `ListTransactions` request sent to broker {broker_id} failed because of an unexpected error "
    logging.getLogger(_LIST_LOGGER).error("%s", calls.log_text(text + error.code.name))
    return error


# --- describing ------------------------------------------------------------------------------------------------------


def describe_transactional_ids(
    calls: Calls, transactional_ids: Collection[str]
) -> dict[str, TransactionDescription | BrokerError | KafkaException]:
    """Blocks. Returns the state of each id, or its error: TransactionalIdNotFound ..."""
    call = CoordinatorCall(
        DESCRIBE_NAME,
        "DESCRIBE_TRANSACTIONS",
        "DescribeTransactionsHandler",
        "",
        _describe,
        frozenset(ErrorCode),  # Java logs none of them above DEBUG
        KeyType.TRANSACTION,
    )
    return ask_coordinators(calls, transactional_ids, call)


def _describe(
    calls: Calls, node: Node, transactional_ids: list[str], deadline_s: float
) -> Mapping[str, Outcome[TransactionDescription]]:
    call = Call(
        f"{DESCRIBE_NAME}(api=DESCRIBE_TRANSACTIONS)",
        describe_transactions.DESCRIBE_TRANSACTIONS_REQUEST,
        describe_transactions.DESCRIBE_TRANSACTIONS_RESPONSE,
        lambda _: describe_transactions.DescribeTransactionsRequest(transactional_ids=transactional_ids),
    )
    answer = calls.to_node_once(node.id, call, deadline_s)
    return {each.transactional_id: _description(each, node) for each in answer.transaction_states}


def _description(found: describe_transactions.TransactionState, coordinator: Node) -> Outcome[TransactionDescription]:
    if found.error_code != ErrorCode.NONE:
        outcome = outcome_of(found.error_code)
        if isinstance(outcome, Again):
            return outcome
        reason = _REASONS.get(outcome.code, "due to unexpected error")
        return type(outcome)(
            f"DescribeTransactions request for transactionalId `{found.transactional_id}` failed {reason}"
        )
    return TransactionDescription(
        coordinator.id,
        TransactionState.parse(found.transaction_state),
        found.producer_id,
        found.producer_epoch,
        found.transaction_timeout_ms,
        None if found.transaction_start_time_ms < 0 else found.transaction_start_time_ms,
        [TopicPartition(topic.topic, number) for topic in found.topics for number in topic.partitions],
    )
