"""Which producers are about to begin a transaction in a partition, and wait for their coordinator to confirm it.

Role        Pure. The leader asks for a guard, asks the coordinator, and appends with the guard (KIP-890, part 1).
Invariants  A guard is good for one beginning: the first batch of the transaction, or any marker of the producer, ends
            it. An answer that comes after an abort finds another guard or none, and cannot begin a transaction that
            its coordinator knows nothing of.
            A producer has one guard at a time, which all its requests that wait share.
Source      VerificationGuard, VerificationStateEntry, ProducerStateManager.maybeCreateVerificationStateEntry.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations


class VerificationGuard:
    """Equal only to itself. `coordinator_epoch`: of who wrote the producer's last marker here, -1 where none is known.

    It holds as long as the guard: the next marker ends that.
    """

    __slots__ = ("coordinator_epoch",)

    def __init__(self, coordinator_epoch: int) -> None:
        self.coordinator_epoch = coordinator_epoch


class _Verification:
    __slots__ = ("began_ms", "guard", "lowest_sequence", "producer_epoch")

    def __init__(self, began_ms: int, sequence: int, producer_epoch: int, coordinator_epoch: int) -> None:
        self.guard = VerificationGuard(coordinator_epoch)
        self.began_ms = began_ms
        self.lowest_sequence = sequence
        self.producer_epoch = producer_epoch


class Verifications:
    """Those of one partition. `is_required`: nothing of a transaction is appended without one.

    `by_producer` is read by the hot path, to pay no call where nobody waits.
    """

    __slots__ = ("by_producer", "is_required")

    def __init__(self) -> None:
        self.is_required = False
        self.by_producer: dict[int, _Verification] = {}

    def begin(
        self, producer_id: int, *, sequence: int, producer_epoch: int, coordinator_epoch: int, now_ms: int
    ) -> VerificationGuard:
        """The guard of a producer, whose lowest sequence is remembered: its batches may arrive out of order."""
        found = self.by_producer.get(producer_id)
        if found is None:
            found = _Verification(now_ms, sequence, producer_epoch, coordinator_epoch)
            self.by_producer[producer_id] = found
        elif producer_epoch > found.producer_epoch:
            found.producer_epoch, found.lowest_sequence = producer_epoch, sequence
        elif producer_epoch == found.producer_epoch:
            found.lowest_sequence = min(found.lowest_sequence, sequence)
        return found.guard

    def is_guarded_by(self, producer_id: int, guard: VerificationGuard | None) -> bool:
        """Whether `guard` is still the one of this producer."""
        found = self.by_producer.get(producer_id)
        return found is not None and found.guard is guard

    def lowest_sequence(self, producer_id: int) -> int | None:
        """The lowest first sequence that a producer has sent while it waits; None while it does not wait."""
        found = self.by_producer.get(producer_id)
        return None if found is None else found.lowest_sequence

    def end(self, producer_id: int) -> None:
        """The transaction has begun, or a marker has ended it."""
        if self.by_producer:
            self.by_producer.pop(producer_id, None)

    def remove_expired(self, now_ms: int, expiration_ms: int) -> None:
        """Forget those that began `expiration_ms` ago."""
        self.by_producer = {
            producer_id: each
            for producer_id, each in self.by_producer.items()
            if now_ms - each.began_ms < expiration_ms
        }

    def __len__(self) -> int:
        return len(self.by_producer)
