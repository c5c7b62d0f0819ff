from __future__ import annotations

import pytest

from kafka_zk.log.files.leader_epoch_file import EpochEntry
from kafka_zk.log.state.leader_epoch_cache import LeaderEpochCache


def cache(*entries: tuple[int, int]) -> LeaderEpochCache:
    return LeaderEpochCache([EpochEntry(*entry) for entry in entries])


@pytest.mark.parametrize(
    ("leader_epoch", "end"),
    [
        (-1, (-1, -1)),
        (1, (1, 5)),  # older than everything known: the log may have lost it
        (2, (2, 10)),
        (3, (2, 10)),  # not here, so what came before it ends where the next begins
        (4, (4, 20)),
        (7, (7, 30)),  # the latest ends with the log
        (8, (-1, -1)),
    ],
)
def test_an_epoch_ends_where_the_next_known_one_begins(leader_epoch: int, end: tuple[int, int]) -> None:
    assert cache((2, 5), (4, 10), (7, 20)).end_offset_for(leader_epoch, 30) == end


def test_an_empty_cache_knows_no_end() -> None:
    assert cache().end_offset_for(0, 30) == (-1, -1)
    assert cache().latest_epoch == -1


def test_the_last_epoch_is_assigned_once() -> None:
    epochs = cache((2, 5))
    assert not epochs.assign(2, 5)
    assert not epochs.assign(2, 9)
    assert epochs.assign(3, 9)
    assert epochs.entries == [(2, 5), (3, 9)]


def test_a_new_entry_removes_those_it_contradicts() -> None:
    epochs = cache((2, 5), (4, 10), (7, 20))
    assert epochs.assign(5, 8)
    assert epochs.entries == [(2, 5), (5, 8)]
    assert epochs.latest_epoch == 5


def test_the_last_epoch_may_begin_earlier_than_it_was_thought() -> None:
    epochs = cache((2, 5), (4, 10))
    assert epochs.assign(4, 7)
    assert epochs.entries == [(2, 5), (4, 7)]


@pytest.mark.parametrize("entry", [(-1, 0), (0, -1)])
def test_negative_epochs_and_offsets_are_refused(entry: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="Received invalid partition leader epoch entry"):
        cache().assign(*entry)


def test_truncating_the_end_drops_what_starts_there_or_behind() -> None:
    epochs = cache((2, 5), (4, 10), (7, 20))
    assert not epochs.truncate_from_end(21)
    assert epochs.truncate_from_end(10)
    assert epochs.entries == [(2, 5)]


def test_truncating_the_start_lets_the_epoch_there_begin_there() -> None:
    epochs = cache((2, 5), (4, 10), (7, 20))
    assert not epochs.truncate_from_start(5)
    assert epochs.truncate_from_start(15)
    assert epochs.entries == [(4, 15), (7, 20)]
    assert epochs.truncate_from_start(100)
    assert epochs.entries == [(7, 100)]


def test_the_epoch_of_an_offset_is_the_last_that_began_before_it() -> None:
    epochs = cache((2, 5), (4, 10))
    assert [epochs.epoch_for_offset(offset) for offset in (4, 5, 9, 10, 99)] == [None, 2, 2, 4, 4]
