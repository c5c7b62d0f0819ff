"""The call of the program whose outcome it does not know yet: only the same call may follow.

Role        Pure.
Source      Kafka 3.9 TransactionManager.PendingStateTransition, handleCachedTransactionRequestResult.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_zk.client.errors import IllegalStateException
from kafka_zk.client.producer.transactions.states import State
from kafka_zk.client.producer.transactions.steps import TransactionResult


class PendingCall:
    """At most one; it ends when the program is told its outcome."""

    def __init__(self) -> None:
        self._result: TransactionResult | None = None
        self._target: State | None = None
        self._operation = ""

    def once(self, target: State, operation: str, begin: Callable[[], TransactionResult]) -> TransactionResult:
        """The result of the same call (the one with this target) as long as nobody was told of it; else a new one.

        Raises IllegalStateException, and what `begin` raises.
        """
        if self._result is not None and not self._result.was_told and self._target is target:
            return self._result
        self.refuse_others(operation)
        result = begin()
        self._result, self._target, self._operation = result, target, operation
        return result

    def refuse_others(self, operation: str) -> None:
        """Raises IllegalStateException while another call waits to be made again."""
        if self._result is not None and not self._result.was_told:
            raise IllegalStateException(
                f"Cannot attempt operation `{operation}` because the previous call to `{self._operation}` "
                "timed out and must be retried"
            )
        self._result = None

    def fail(self, error: Exception) -> None:
        if self._result is not None:
            self._result.fail(error)
