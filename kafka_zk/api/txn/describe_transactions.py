"""DescribeTransactions (key 65, v0): the state of transactional ids that this broker coordinates.

Source      KafkaApis.handleDescribeTransactionsRequest, TransactionCoordinator.handleDescribeTransactions.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Audit, Operation, ResourceType, authorize
from kafka_zk.api.error_form import Each, Form
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.walk import per_distinct
from kafka_zk.coordinator.transaction.decisions.states import TransactionState as State
from kafka_zk.protocol.errors import BrokerError, ErrorCode, TransactionalIdNotFound, error_class_for
from kafka_zk.protocol.messages.describe_transactions import (
    DESCRIBE_TRANSACTIONS_REQUEST,
    DESCRIBE_TRANSACTIONS_RESPONSE,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)

NO_TOPICS: list[TopicData] = []
"""One list for all: a request may name hundreds of thousands of unknown ids."""

ERRORS = Form((Each("transactional_ids", "transaction_states", key="transactional_id"),))


@api(DESCRIBE_TRANSACTIONS_REQUEST, DESCRIBE_TRANSACTIONS_RESPONSE, errors=ERRORS)
def describe_transactions(request: DescribeTransactionsRequest, ctx: RequestContext) -> DescribeTransactionsResponse:
    def describe(transactional_id: str) -> TransactionState:
        authorize(ctx, Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transactional_id)
        found = ctx.services.transaction_coordinator.describe(transactional_id)
        if isinstance(found, ErrorCode):
            raise error_class_for(found)
        if found.state is State.DEAD:
            raise TransactionalIdNotFound
        topics: dict[str, list[int]] = {}
        for topic, index in sorted(found.partitions):
            topics.setdefault(topic, []).append(index)
        return TransactionState(
            transactional_id=transactional_id,
            transaction_state=found.state.word,
            transaction_timeout_ms=found.timeout_ms,
            transaction_start_time_ms=found.started_ms,
            producer_id=found.producer_id,
            producer_epoch=found.producer_epoch,
            topics=[
                TopicData(topic=topic, partitions=partitions)
                for topic, partitions in topics.items()
                if ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, topic, Audit.FILTER)
            ],
        )

    def refuse(transactional_id: str, error: BrokerError) -> TransactionState:
        return TransactionState(transactional_id=transactional_id, error_code=error.code, topics=NO_TOPICS)

    return DescribeTransactionsResponse(
        transaction_states=per_distinct(request.transactional_ids, str, describe, refuse)
    )
