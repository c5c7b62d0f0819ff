"""An append that ends half way, by anything but the disk: nothing of it stands where the next one is put."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.log.files import names
from kafka_zk.log.files.offset_index import OffsetIndex
from kafka_zk.log.files.time_index import TimeIndex
from kafka_zk.log.state.producer_state import ProducerState
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.record import Record, build_batch
from tests.unit.log.given import T0, Place, produced, topic_config, values

pytestmark = pytest.mark.interpreted

CONFIG = topic_config(segment_bytes=1 << 20, index_interval_bytes=200)


class Failing:
    """The next call of a method fails once its effect is there, or before."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, of: type, name: str, *, has_effect: bool) -> None:
        self.left = 0
        method = getattr(of, name)

        def fails(self_: Any, *given: Any, **more: Any) -> Any:
            if self.left == 1 and not has_effect:
                self.left = 0
                raise MemoryError
            result = method(self_, *given, **more)
            if self.left == 1:
                self.left = 0
                raise MemoryError
            return result

        monkeypatch.setattr(of, name, fails)


def as_leader(log: UnifiedLog, number: int) -> None:
    log.append_as_leader(produced(str(number), timestamp=T0 + number), leader_epoch=0)


def as_follower(log: UnifiedLog, number: int) -> None:
    record = Record(log.log_end_offset, T0 + number, None, str(number).encode())
    log.append_as_follower(build_batch([record], base_offset=record.offset, leader_epoch=0))


def texts(*ranges: range) -> list[str]:
    return [str(number) for each in ranges for number in each]


@pytest.mark.parametrize("has_effect", [False, True])
@pytest.mark.parametrize(
    ("append", "of", "name"),
    [
        (as_leader, OffsetIndex, "append"),
        (as_leader, TimeIndex, "maybe_append"),
        (as_follower, OffsetIndex, "extend"),
        (as_follower, TimeIndex, "extend"),
    ],
)
def test_a_batch_that_could_not_be_indexed_leaves_its_offset_to_the_next(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    append: Callable[[UnifiedLog, int], None],
    of: type,
    name: str,
    has_effect: bool,
) -> None:
    failing = Failing(monkeypatch, of, name, has_effect=has_effect)
    log = place.open(CONFIG)
    for number in range(10):
        append(log, number)
    failing.left, refused = 1, 0
    while failing.left:
        try:
            append(log, 10 + refused)
        except MemoryError:
            break
        refused += 1
    assert log.log_end_offset == 10 + refused
    for number in range(100, 120):
        append(log, number)
    wanted = texts(range(10 + refused), range(100, 120))
    assert values(log) == wanted
    place.crash(log)
    assert values(place.open(CONFIG)) == wanted, "a recovery finds the same"


def test_what_is_not_known_of_a_producer_any_more_takes_the_directory_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = Failing(monkeypatch, ProducerState, "update", has_effect=False)
    log = Place(tmp_path).open(CONFIG)
    log.append_as_leader(produced("0", producer_id=7, sequence=0, timestamp=T0), leader_epoch=0)
    failing.left = 1
    with pytest.raises(KafkaStorageError):
        log.append_as_leader(produced("1", producer_id=7, sequence=1, timestamp=T0), leader_epoch=0)
    with pytest.raises(KafkaStorageError):
        log.append_as_leader(produced("2", timestamp=T0), leader_epoch=0)
    log = Place(tmp_path).open(CONFIG)
    log.append_as_leader(produced("1", producer_id=7, sequence=1, timestamp=T0), leader_epoch=0)
    assert values(log) == ["0", "1"]


@pytest.mark.parametrize("too_high", [1, 1 << 24])
def test_an_index_whose_last_offset_is_not_in_the_log_is_made_again_before_anything_is_appended(
    place: Place, too_high: int
) -> None:
    log = place.open(CONFIG)
    for number in range(20):
        as_leader(log, number)
    log.close()
    path: Path = next(place.partition.glob(f"*{names.OFFSET_INDEX}"))
    data = bytearray(path.read_bytes())
    last = int.from_bytes(data[-8:-4], "big")
    data[-8:-4] = (max(last, 19) + too_high).to_bytes(4, "big")
    path.write_bytes(data)
    log = place.open(CONFIG, clean=True, recovery_point=20)
    for number in range(20, 40):
        as_leader(log, number)
    assert values(log) == texts(range(40))
    entries = [entry.offset for entry in log.active.indexes.offset.entries()]
    assert entries == sorted(set(entries)) and entries[-1] < 40
