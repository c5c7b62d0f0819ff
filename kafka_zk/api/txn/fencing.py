"""The code of a fenced producer, which older clients know by another name.

Source      KafkaApis: INVALID_PRODUCER_EPOCH in the place of PRODUCER_FENCED (KIP-588).
"""

from __future__ import annotations

from kafka_zk.protocol.errors import ErrorCode

PRODUCER_FENCED_FROM = 2
"""Version of AddPartitionsToTxn, AddOffsetsToTxn and EndTxn whose clients know PRODUCER_FENCED."""


def as_known(code: ErrorCode, api_version: int, known_from: int = PRODUCER_FENCED_FROM) -> ErrorCode:
    """The code as a client of this version knows it."""
    if code is ErrorCode.PRODUCER_FENCED and api_version < known_from:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code
