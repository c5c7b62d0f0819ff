"""In which order a log is cut: the order that survives a power cut, as a table."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.log.local.truncation_plan import Step, What, restart_plan, truncation_plan

CUT = (What.CUT_SEGMENT, What.CUT_EPOCHS, What.END, What.REBUILD_PRODUCERS, What.SYNC_CUT, What.LOWER_CHECKPOINTS)


def cut_at(offset: int) -> list[Step]:
    return [Step(what, offset) for what in CUT]


def gone(*offsets: int) -> list[Step]:
    return [Step(What.REMOVE_SEGMENT, offset) for offset in offsets]


@pytest.mark.parametrize(
    ("bases", "snapshots", "offset", "before_the_cut"),
    [
        ([0], [], 5, []),
        ([0, 10, 20, 30], [], 25, [*gone(30), Step(What.SYNC_NAMES, 25)]),
        ([0, 10, 20, 30], [], 5, [*gone(30, 20, 10), Step(What.SYNC_NAMES, 5)]),
        ([0, 10, 20], [], 20, []),
        ([0, 10], [10], 10, []),
        ([0], [8], 5, [Step(What.REMOVE_SNAPSHOT, 8), Step(What.SYNC_NAMES, 5)]),
        ([0, 10], [10], 5, [*gone(10), Step(What.SYNC_NAMES, 5)]),
        ([0, 10], [4, 10, 12], 5, [*gone(10), Step(What.REMOVE_SNAPSHOT, 12), Step(What.SYNC_NAMES, 5)]),
    ],
)
def test_what_goes_is_gone_for_good_before_what_stays_is_cut(
    bases: Sequence[int], snapshots: Sequence[int], offset: int, before_the_cut: list[Step]
) -> None:
    assert truncation_plan(bases, snapshots, offset) == before_the_cut + cut_at(offset)


def test_a_log_that_begins_anew_makes_its_segment_behind_all_that_goes() -> None:
    assert restart_plan([0, 10, 20], 50) == [
        *gone(20, 10, 0),
        Step(What.CLEAR_EPOCHS, 50),
        Step(What.CLEAR_PRODUCERS, 50),
        Step(What.BEGIN_SEGMENT, 50),
        Step(What.SYNC_NAMES, 50),
        Step(What.RESTART, 50),
        Step(What.LOWER_CHECKPOINTS, 50),
    ]


def test_a_log_is_not_cut_before_it_begins() -> None:
    with pytest.raises(AssertionError, match="begins at 10"):
        truncation_plan([10, 20], [], 5)


@given(st.sets(st.integers(0, 60), min_size=1), st.sets(st.integers(0, 70)), st.integers(0, 80))
def test_after_any_prefix_of_a_plan_there_is_no_hole(bases: set[int], snapshots: set[int], offset: int) -> None:
    """A power cut between two steps, where all names are on the disk: the log of before, or less of its end."""
    ordered = sorted(bases)
    offset = max(offset, ordered[0])
    left, kept = list(ordered), sorted(snapshots)
    for what, at in truncation_plan(ordered, kept, offset):
        if what is What.REMOVE_SEGMENT:
            assert at == left.pop(), "the newest goes first"
        elif what is What.REMOVE_SNAPSHOT:
            kept.remove(at)
        elif what is What.CUT_SEGMENT:
            assert left == [base for base in ordered if base <= offset]
            # A snapshot at the base of a segment went with it.
            assert all(each <= offset or each in bases for each in kept)
