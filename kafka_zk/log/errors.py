"""Errors of the log without a wire code."""

from __future__ import annotations

from kafka_zk.protocol.errors import UnknownServerError


class UnexpectedAppendOffset(UnknownServerError):
    """Replicated batches begin below the log end offset. The follower decides what to do about it.

    Source: UnexpectedAppendOffsetException.
    """

    def __init__(self, message: str, *, first_offset: int, last_offset: int) -> None:
        super().__init__(message)
        self.first_offset = first_offset
        self.last_offset = last_offset
