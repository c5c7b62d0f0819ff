"""Runs of plain batches: the compiled walk, its pure twin, and a recovery with and without runs."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.log.loading import rebuild
from kafka_zk.record import runs
from kafka_zk.record.builder import build_batch
from kafka_zk.record.runs import PlainRun
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


def test_a_run_holds_every_plain_batch_and_what_it_says_of_its_producer(plain_run: PlainRun) -> None:
    first, second = batch(5), batch(8, 2, producer_id=9)
    rows, producers = plain_run(memoryview(first + second), 0, 5, 0, 0, True)
    assert rows == [(0, len(first), 7, T0 + 7), (len(first), len(second), 9, T0 + 9)]
    # Sequences wrap.
    assert producers == [(1, 9, 0, 0x7FFFFFFF, 1)]


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
    rows, _ = plain_run(memoryview(bytes(first) + bytes(last)), 0, 5, 5, 0, True)
    assert len(rows) == 1


def test_a_batch_of_a_producer_is_plain_only_for_who_follows_producers(plain_run: PlainRun) -> None:
    data = memoryview(batch(0, producer_id=1))
    assert len(plain_run(data, 0, 0, 0, 0, True)[0]) == 1
    assert plain_run(data, 0, 0, 0, 0, False) == ([], [])


@needs_compiled
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 2), st.booleans()), max_size=6), st.data())
def test_both_walks_find_the_same_in_damaged_bytes(shapes: list[tuple[int, int, bool]], data: st.DataObject) -> None:
    assert COMPILED is not None
    made, offset = bytearray(), 0
    for gap, producer_id, transactional in shapes:
        made += batch(offset + gap, producer_id=producer_id, transactional=transactional and producer_id >= 0)
        offset += gap + 3
    for _ in range(data.draw(st.integers(0, 2))):
        if made:
            made[data.draw(st.integers(0, len(made) - 1))] = data.draw(st.integers(0, 255))
    cut = made[: data.draw(st.integers(0, len(made)))]
    arguments = memoryview(cut), 0, 0, 0, 0, data.draw(st.booleans())
    assert COMPILED(*arguments) == runs.plain_run(*arguments)


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
