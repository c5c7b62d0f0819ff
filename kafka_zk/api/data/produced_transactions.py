"""The transactional batches of a Produce request: their coordinator is asked before their transaction begins here.

Role        Called by the handler for requests that have such batches, before anything is appended.
Source      Kafka 3.9 ReplicaManager.handleProduceAppend.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_zk.api.data.produced_records import is_transactional, producer_of
from kafka_zk.api.request_context import RequestContext
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.errors import (
    ErrorCode,
    InvalidProducerIdMapping,
    InvalidTxnState,
    NotEnoughReplicas,
    error_class_for,
)
from kafka_zk.replication.serving.append import AppendFailure, Entry, Guards
from kafka_zk.replication.serving.transaction_verifier import Transaction, Verified

ABORTABLE_FROM = 11
"""From this version on clients know TRANSACTION_ABORTABLE."""

_RETRIED = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
"""Producers may take these for fatal. What they get instead has them retry, and not ask for metadata first."""

Refused = list[tuple[int, AppendFailure]]
"""Positions in the request, ascending, with why nothing is appended there."""


def verify(
    entries: Sequence[Entry], transactional_id: str, refused: Refused, ctx: RequestContext
) -> tuple[list[Entry], Guards, Refused]:
    """Blocks until the coordinator has answered. The entries that may be appended, with what, and all the refused.

    Raises InvalidProducerIdMapping where the batches are not of one producer.
    """
    sequences: dict[tuple[str, int], int] = {}
    producers: set[tuple[int, int]] = set()
    for topic, index, records in in_turns(entries):
        if is_transactional(records, ctx.api_version):
            producer_id, producer_epoch, base_sequence = producer_of(records)
            if producer_id >= 0:
                sequences[topic, index] = base_sequence
                producers.add((producer_id, producer_epoch))
    if not producers:
        return list(entries), {}, refused
    if len(producers) > 1:
        raise InvalidProducerIdMapping("Transactional records contained more than one producer ID")
    verified = ctx.services.transaction_verifier.verify(
        Transaction(transactional_id, *producers.pop()),
        sequences,
        knows_abortable=ctx.api_version >= ABORTABLE_FROM,
    )
    if not verified.errors:
        return list(entries), verified.guards, refused
    return _without_unverified(entries, verified, refused)


def _without_unverified(
    entries: Sequence[Entry], verified: Verified, refused: Refused
) -> tuple[list[Entry], Guards, Refused]:
    """Yields to other greenlets."""
    left: list[Entry] = []
    known = dict(refused)
    position = 0
    for entry in in_turns(entries):
        while position in known:
            position += 1
        code = verified.errors.get((entry[0], entry[1]))
        if code is None:
            left.append(entry)
        else:
            known[position] = _failure(code)
        position += 1
    return left, verified.guards, sorted(known.items())


def _failure(code: ErrorCode) -> AppendFailure:
    """As producers learn of it."""
    if code is ErrorCode.INVALID_TXN_STATE:
        return AppendFailure(InvalidTxnState("Partition was not added to the transaction"), tells_why=True)
    if code in _RETRIED:
        text = f"Unable to verify the partition has been added to the transaction. Underlying error: {code.name}"
        return AppendFailure(NotEnoughReplicas(text), tells_why=True)
    return AppendFailure(error_class_for(code)())
