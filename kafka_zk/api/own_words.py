"""The error message of an answer: only what says more than the code does.

Source      ApiError: its message is null unless the exception brought one of its own.
"""

from __future__ import annotations

from kafka_zk.protocol.errors import BrokerError


def own_words(error: BrokerError) -> str | None:
    """The message of `error`, None where it is just the standard sentence of its code."""
    message = str(error)
    return None if message == str(type(error)()) else message
