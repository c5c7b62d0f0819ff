"""ListTransactions (key 66, v0-1): the transactional ids that this broker coordinates.

v1 only those that have been open for longer than a time
Source      KafkaApis.handleListTransactionsRequest, TransactionStateManager.listTransactionStates.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_zk.api.authorization import Audit, Operation, ResourceType
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.coordinator.transaction.decisions.states import TransactionState as State
from kafka_zk.coordinator.transaction.decisions.transaction import Transaction
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.list_transactions import (
    LIST_TRANSACTIONS_REQUEST,
    LIST_TRANSACTIONS_RESPONSE,
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)

BY_WORD = {state.word: state for state in State}


@api(LIST_TRANSACTIONS_REQUEST, LIST_TRANSACTIONS_RESPONSE)
def list_transactions(request: ListTransactionsRequest, ctx: RequestContext) -> ListTransactionsResponse:
    """Yields to other greenlets. List the ids that match all filters and that the client may see."""
    found = ctx.services.transaction_coordinator.all_transactions()
    if isinstance(found, ErrorCode):
        return ListTransactionsResponse(error_code=found)
    is_wanted = _filter(request, ctx.services.clock.wall_ms())
    unknown = dict.fromkeys(word for word in in_turns(request.state_filters) if word not in BY_WORD)
    return ListTransactionsResponse(
        unknown_state_filters=list(in_turns(unknown)),
        transaction_states=[
            TransactionState(
                transactional_id=transaction.transactional_id,
                producer_id=transaction.producer_id,
                transaction_state=transaction.state.word,
            )
            for transaction in in_turns(found)
            if is_wanted(transaction)
            and ctx.may(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transaction.transactional_id, Audit.FILTER)
        ],
    )


def _filter(request: ListTransactionsRequest, now_ms: int) -> Callable[[Transaction], bool]:
    """Yields to other greenlets."""
    states = {BY_WORD[word] for word in in_turns(request.state_filters) if word in BY_WORD}
    producer_ids = set(in_turns(request.producer_id_filters))

    def is_wanted(transaction: Transaction) -> bool:
        return (
            (not producer_ids or transaction.producer_id in producer_ids)
            and (not request.state_filters or transaction.state in states)
            and (request.duration_filter < 0 or now_ms - transaction.started_ms > request.duration_filter)
        )

    return is_wanted
