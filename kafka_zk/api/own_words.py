"""The error message of an answer: only what says more than the code does.

Source      ApiError.fromThrowable: its message is null unless the exception brought one of its own, and always for
            UNKNOWN_SERVER_ERROR, whose texts are for the broker's log.
"""

from __future__ import annotations

from kafka_zk.protocol.errors import BrokerError, ErrorCode


def own_words(error: BrokerError) -> str | None:
    """The message of `error`, None where it is just the standard sentence of its code."""
    message = str(error)
    is_generic = error.code is ErrorCode.UNKNOWN_SERVER_ERROR or message == str(type(error)())
    return None if is_generic else message
