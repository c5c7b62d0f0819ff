"""Runs of plain batches: the compiled walk, its pure twin, and a recovery with and without runs."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.log.loading import rebuild
from kafka_zk.record import runs, walking
from kafka_zk.record.builder import build_batch
from kafka_zk.record.legacy import build_message_set
from kafka_zk.record.runs import Indexing, PlainRun, Run
from kafka_zk.record.types import Record
from tests.unit.log.given import T0, Place, all_records, topic_config

COMPILED = runs.compiled_run()
needs_compiled = pytest.mark.skipif(COMPILED is None, reason="the compiled walk was not built")


def batch(
    base_offset: int, count: int = 3, *, epoch: int = 0, producer_id: int = -1, transactional: bool = False
) -> bytearray:
    has_producer = producer_id >= 0
    made = build_batch(
        [Record(index, T0 + base_offset + index, b"k", b"v" * index) for index in range(count)],
        producer_id=producer_id,
        producer_epoch=0 if has_producer else -1,
        base_sequence=0x7FFFFFFE if has_producer else -1,
        transactional=transactional,
    )
    made[0:8] = base_offset.to_bytes(8, "big")
    made[12:16] = epoch.to_bytes(4, "big", signed=True)
    return made


@pytest.fixture(params=["pure", pytest.param("compiled", marks=needs_compiled)])
def plain_run(request: pytest.FixtureRequest) -> Callable[..., object]:
    return runs.plain_run if request.param == "pure" else COMPILED  # type: ignore[return-value]


def run_of(plain_run: PlainRun, data: bytes | bytearray, *, interval_bytes: int = 1 << 20, next_offset: int = 0) -> Run:
    return plain_run(memoryview(data), 0, next_offset, 0, 0, 1000, interval_bytes, Indexing())


def test_a_run_takes_in_all_but_its_last_batch(plain_run: PlainRun) -> None:
    first, second, third = batch(5), batch(8, 2, producer_id=9), batch(10, 1)
    run = run_of(plain_run, first + second + third, next_offset=5)
    assert (run.end, run.last) == (len(first + second + third), len(first + second))
    assert (run.next_offset, run.indexing) == (10, Indexing(T0 + 9, 9, len(first + second)))
    # Sequences wrap.
    assert run.producers == [(9, 0, 0x7FFFFFFF, 9, 1, T0 + 9)]
    alone = run_of(plain_run, first, next_offset=5)
    assert alone == (len(first), 0, 5, [], Indexing(), [])


def test_an_entry_comes_with_the_first_batch_behind_an_interval(plain_run: PlainRun) -> None:
    data = b"".join(batch(offset, 1) for offset in range(10))
    size = len(batch(0, 1))
    entries = run_of(plain_run, data, interval_bytes=2 * size).entries
    # More than two batches, itself not counted; the last one is not taken in.
    assert entries == [(offset, 1000 + offset * size, T0 + offset, offset) for offset in (3, 6)]


def test_of_a_producer_the_last_five_batches_are_told(plain_run: PlainRun) -> None:
    who = [1] * 7 + [2] + [1] * 2 + [-1] * 3 + [1] * 8 + [2]
    data = b"".join(batch(offset, 1, producer_id=producer_id) for offset, producer_id in enumerate(who))
    told = [(row.producer_id, row.last_offset) for row in run_of(plain_run, data).producers]
    assert told == [(1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (2, 7), *((1, offset) for offset in range(16, 21))]


@pytest.mark.parametrize(
    "last",
    [
        batch(6),  # Its offsets do not follow.
        batch(8, epoch=1),
        batch(8, producer_id=1, transactional=True),
        batch(8)[:-1],
        batch(8)[:40],
        batch(8)[:-1] + b"x",  # The crc is wrong.
        batch((1 << 31) + 100),
        bytes(100),
    ],
)
def test_a_run_ends_before_what_needs_thought(plain_run: PlainRun, last: bytes) -> None:
    first = batch(5)
    run = run_of(plain_run, bytes(first) + bytes(last), next_offset=5)
    assert (run.end, run.last) == (len(first), 0)


@needs_compiled
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 2), st.booleans()), max_size=12),
    st.integers(0, 300),
    st.data(),
)
def test_both_walks_find_the_same_in_damaged_bytes(
    shapes: list[tuple[int, int, bool]], interval_bytes: int, data: st.DataObject
) -> None:
    assert COMPILED is not None
    made, offset = bytearray(), 0
    for gap, producer_id, transactional in shapes:
        made += batch(offset + gap, producer_id=producer_id, transactional=transactional and producer_id >= 0)
        offset += gap + 3
    for _ in range(data.draw(st.integers(0, 2))):
        if made:
            made[data.draw(st.integers(0, len(made) - 1))] = data.draw(st.integers(0, 255))
    cut = made[: data.draw(st.integers(0, len(made)))]
    known = Indexing(data.draw(st.sampled_from([-1, T0 + 7])), 3, data.draw(st.integers(0, 200)))
    arguments = memoryview(cut), 0, 0, 0, 0, 50, interval_bytes, known
    assert COMPILED(*arguments) == runs.plain_run(*arguments)


@needs_compiled
@given(st.lists(st.integers(1, 3), max_size=12), st.booleans(), st.integers(0, 300))
def test_both_give_written_batches_the_same_index_entries(
    counts: list[int], has_old: bool, interval_bytes: int
) -> None:
    data = b"".join(batch(7 * index, count) for index, count in enumerate(counts))
    size = len(data)
    if has_old:
        data += build_message_set([Record(900, T0, b"k", b"v")], magic=1) + batch(901)
    arguments = memoryview(data), 0, 40, interval_bytes, Indexing()
    run = walking.index_run(*arguments)
    assert run == runs.index_run(*arguments)
    assert run.end == size and run.last_offset == (7 * (len(counts) - 1) + counts[-1] - 1 if counts else -1)


@needs_compiled
@pytest.mark.parametrize("seed", range(20))
def test_a_recovery_by_runs_leaves_the_same_files_as_one_batch_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    data, offset = bytearray(), 0
    for _ in range(chance.randrange(1, 200)):
        producer_id = chance.choice([-1, 1, 2])
        made = batch(offset, chance.randrange(1, 4), epoch=offset // 150, producer_id=producer_id)
        offset += 3 + chance.choice([0, 0, 0, 2])
        data += made
    if chance.random() < 0.5:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    found = []
    for name, walk in (("runs", COMPILED), ("alone", None)):
        monkeypatch.setattr(rebuild, "compiled_run", lambda walk=walk: walk)
        (tmp_path / name).mkdir()
        place = Place(tmp_path / name)
        (place.partition / f"{0:020d}.log").write_bytes(data)
        log = place.open(topic_config(index_interval_bytes=200, segment_index_bytes=4096))
        files = {path.name: path.read_bytes() for path in place.partition.iterdir()}
        found.append(
            (files, log.log_end_offset, log.latest_epoch, len(all_records(log)), repr(log.producers.state.producers))
        )
        place.crash(log)
    assert found[0] == found[1]


@pytest.mark.parametrize("size", [-(2**31), -12, 0, 40, 2**31 - 13])
@pytest.mark.parametrize("index_run", [runs.index_run, walking.index_run], ids=["pure", "in use"])
def test_an_index_run_ends_before_a_batch_that_lies_about_its_size(index_run: Any, size: int) -> None:
    whole, lying = batch(0), bytearray(batch(3))
    lying[8:12] = size.to_bytes(4, "big", signed=True)
    run = index_run(memoryview(whole + lying), 0, 0, 50, Indexing())
    assert (run.end, run.last_offset) == (len(whole), 2)
