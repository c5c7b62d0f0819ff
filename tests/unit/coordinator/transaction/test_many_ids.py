"""Very many transactional ids whose producers begin and are never heard of again: what they cost, and that they end."""

from __future__ import annotations

import tracemalloc

from kafka_zk.coordinator.transaction.decisions.requests import ProducerIdAndEpoch
from kafka_zk.protocol.errors import ErrorCode
from tests.unit.coordinator.transaction.transaction_world import T0, TIMEOUT_MS, World, world

BYTES_AN_ID = 2_500
"""Of memory, with its records in a log that is in memory, too, and room for Python's whims."""
ABORT_INTERVAL_MS = 10_000
EXPIRATION_MS, EXPIRY_INTERVAL_MS = 600_000, 60_000


def begin(scene: World, id_count: int) -> None:
    """Each id has a transaction with one partition then."""
    for number in range(id_count):
        name = f"id-{number}"
        begun = scene.coordinator.init_producer_id(name, timeout_ms=TIMEOUT_MS, expected=None).value
        producer = ProducerIdAndEpoch(begun.producer_id, begun.producer_epoch)
        assert scene.coordinator.add_partitions(name, producer, [T0]).value is ErrorCode.NONE


def test_thousands_of_ids_that_never_end_take_little_memory(scene: World) -> None:
    tracemalloc.start()
    begin(scene, 2_000)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"{taken / 2_000:.0f} bytes an id")
    assert taken < 2_000 * BYTES_AN_ID


def test_ids_that_never_end_are_aborted_and_forgotten() -> None:
    with world(
        transactional_id_expiration_ms=EXPIRATION_MS,
        transaction_remove_expired_transaction_cleanup_interval_ms=EXPIRY_INTERVAL_MS,
    ) as scene:
        begin(scene, 300)
        scene.passes(TIMEOUT_MS + ABORT_INTERVAL_MS)
        assert {each.state.word for each in scene.coordinator.all_transactions()} == {"CompleteAbort"}
        assert len(scene.leaders.markers) == 300
        scene.passes(EXPIRATION_MS + EXPIRY_INTERVAL_MS)
        assert not scene.coordinator.all_transactions()
