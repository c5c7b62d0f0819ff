"""Which batches of a fetch answer are read, and how far the answer reaches."""

from __future__ import annotations

import pytest

from kafka_zk.client.range_reading.visible_batches import AbortedTransactions, VisibleBatches, visible_batches
from kafka_zk.protocol.errors import CorruptMessage
from tests.unit.client.range_reading.given import data, marker


def seen(
    content: bytes, position: int = 0, end_offset: int = 100, aborted: list[tuple[int, int]] | None = None
) -> tuple[list[int], int]:
    """Base offsets of the visible batches, and where the next fetch begins."""
    found = look(content, position, end_offset, aborted)
    return [batch.header.base_offset for batch in found.batches], found.next_offset


def look(
    content: bytes, position: int = 0, end_offset: int = 100, aborted: list[tuple[int, int]] | None = None
) -> VisibleBatches:
    hidden = None if aborted is None else AbortedTransactions(aborted)
    return visible_batches(memoryview(content), position, end_offset, hidden, check_crcs=True)


def test_batches_before_the_position_and_from_the_end_on_are_left_out() -> None:
    content = data(0, 5) + data(5, 5) + data(10, 5)
    assert seen(content, position=7, end_offset=10) == ([5], 10)


def test_a_hole_of_compaction_is_passed_over() -> None:
    assert seen(data(0, 1, last_offset=4) + data(9)) == ([0, 9], 10)
    assert seen(data(0) + data(50), end_offset=20) == ([0], 50)


def test_a_batch_emptied_by_compaction_moves_the_position() -> None:
    assert seen(data(3, 0, last_offset=8), position=3)[1] == 9


def test_markers_have_no_rows_but_move_the_position() -> None:
    content = data(0, producer_id=7) + marker(1, 7, commit=True)
    assert seen(content) == ([0], 2)
    assert seen(content, aborted=[]) == ([0], 2)


def test_committed_readers_do_not_see_aborted_transactions() -> None:
    content = (
        data(0, producer_id=7)
        + data(1, producer_id=8)
        + data(2)
        + marker(3, 7, commit=False)
        + data(4, producer_id=7)
        + marker(5, 7, commit=True)
        + marker(6, 8, commit=True)
    )
    assert seen(content, aborted=[(0, 7)]) == ([1, 2, 4], 7)
    assert look(content, 0, 100, [(0, 7)]).aborted == {0} and not look(content).aborted
    assert seen(content) == ([0, 1, 2, 4], 7)


def test_a_transaction_that_began_earlier_is_hidden_too() -> None:
    content = data(10, producer_id=7) + marker(11, 7, commit=False) + data(12, producer_id=7)
    assert seen(content, position=10, aborted=[(2, 7)]) == ([12], 13)


def test_a_batch_that_is_not_whole_waits_for_the_next_fetch() -> None:
    whole, torn = data(0, 2), data(2, 2)[:-1]
    assert seen(whole + torn) == ([0], 2)
    assert look(torn).is_partial
    assert not look(whole + torn).is_partial
    assert not look(b"").is_partial


def test_a_wrong_checksum_is_told_with_its_offsets() -> None:
    content = bytearray(data(5, 3))
    content[-1] ^= 1
    with pytest.raises(CorruptMessage, match="offsets 5 to 7"):
        look(bytes(content))
    found = visible_batches(memoryview(content), 0, 100, None, check_crcs=False)
    assert len(found.batches) == 1


def test_the_headers_are_of_all_batches_that_are_there() -> None:
    content = data(0, producer_id=7) + marker(1, 7, commit=False) + data(2, 0, last_offset=4) + data(7)
    found = look(content, position=1, end_offset=7, aborted=[(0, 7)])
    assert [(header.base_offset, header.last_offset) for header in found.headers] == [(1, 1), (2, 4)]
