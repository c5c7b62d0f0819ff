"""The error message in a response: only texts that say more than the error code does.

Source      ApiError.fromThrowable: its message is null unless the exception brought one of its own, and always for
            UNKNOWN_SERVER_ERROR, whose texts are for the broker's log.
"""

from __future__ import annotations

from kafka_zk.protocol.errors import BrokerError, ErrorCode


def api_error_message(error: BrokerError) -> str | None:
    """The message of `error`; None if it is only the default message of its code."""
    message = str(error)
    is_generic = error.code is ErrorCode.UNKNOWN_SERVER_ERROR or message == str(type(error)())
    return None if is_generic else message
