"""SharedBody: the body of a request that many brokers get, encoded once.

Role        Pure. With 30 brokers, a fail-over sent each the state of all partitions, and encoded it 30 times.
Invariants  Requests that share a body are equal but for their broker epoch, which is put into the bytes for each.
            Encoded at the first need: a broker that left meanwhile costs nothing.
Source      Ours: AbstractControllerBrokerRequestBatch builds and encodes one request for each broker.
"""

from __future__ import annotations

import struct
from copy import copy
from functools import cache
from typing import Any

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.leader_and_isr import LEADER_AND_ISR_REQUEST, LeaderAndIsrRequest
from kafka_zk.protocol.messages.update_metadata import UPDATE_METADATA_REQUEST, UpdateMetadataRequest

Shareable = LeaderAndIsrRequest | UpdateMetadataRequest

_EPOCH = struct.Struct(">q")


class SharedBody:
    """The body of `request`, and of those that `for_epoch` makes of it."""

    def __init__(self, request: Shareable, api_version: int) -> None:
        self._request = request
        self._api_version = api_version
        self._encoded: bytes | None = None
        self.encoded_count = 0
        """How often it was encoded: once, or never."""

    def for_epoch(self, broker_epoch: int) -> Shareable:
        """The request to the broker of that epoch; it shares everything else, which nobody may change."""
        request = copy(self._request)
        request.broker_epoch = broker_epoch
        return request

    def encoded_for(self, broker_epoch: int) -> bytes:
        """What encoding `for_epoch(broker_epoch)` would give."""
        if self._encoded is None:
            self._encoded = _message_of(self._request).encode(self._request, self._api_version)
            self.encoded_count += 1
        position = _epoch_position(_message_of(self._request), self._api_version)
        if position is None:
            return self._encoded
        behind = memoryview(self._encoded)[position + _EPOCH.size :]
        return b"".join((self._encoded[:position], _EPOCH.pack(broker_epoch), behind))


def _message_of(request: Shareable) -> Message[Any]:
    return LEADER_AND_ISR_REQUEST if isinstance(request, LeaderAndIsrRequest) else UPDATE_METADATA_REQUEST


@cache
def _epoch_position(message: Message[Any], api_version: int) -> int | None:
    """Where the epoch's eight bytes begin, None in versions without it: all that is before them has a fixed size."""
    encoded = []
    for broker_epoch in (0, -1):
        request: Any = message.value_class()
        request.broker_epoch = broker_epoch
        encoded.append(message.encode(request, api_version))
    zeros, ones = encoded
    return next((position for position, (zero, one) in enumerate(zip(zeros, ones, strict=True)) if zero != one), None)
