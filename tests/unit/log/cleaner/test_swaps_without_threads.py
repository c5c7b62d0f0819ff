"""A swap of segments that ends half way by an error that is no OSError: a log with .swap files is out of service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_zk.log.files import names
from kafka_zk.log.pools import LogPools
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import KafkaStorageError
from tests.unit.log.cleaner.given import cleaning_of
from tests.unit.log.given import T0, Place, produced, topic_config, values

CONFIG = topic_config(segment_bytes=500, cleanup_policy="compact", delete_retention_ms=0)


def written_twice(place: Place) -> UnifiedLog:
    log = place.open(CONFIG)
    for number in range(40):
        log.append_as_leader(
            produced(f"{number:03}", timestamp=T0 + number, keys=[b"%d" % (number % 20)]), leader_epoch=0
        )
    log.update_high_watermark(log.log_end_offset)
    log.flusher.wait()
    return log


@pytest.mark.parametrize("failing", [1, 2])
def test_a_swap_that_finds_no_thread_takes_the_directory_offline_and_a_start_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    pools = LogPools()
    place = Place(tmp_path, pools=pools)
    log = written_twice(place)
    run_to_end, syncs = pools.run_to_end, [0]

    def no_thread_for_names(pool: Any, function: Any, *arguments: Any) -> Any:
        if function == log.log_dir.disk.sync_path and any(
            path.suffix in (names.SWAP, names.DELETED) for path in log.directory.iterdir()
        ):
            syncs[0] += 1
            if syncs[0] == failing:
                raise RuntimeError("can't start new thread")
        return run_to_end(pool, function, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(pools, "run_to_end", no_thread_for_names)
        with pytest.raises(KafkaStorageError):
            cleaning_of(log).run()
    assert log.log_dir.is_offline
    with pytest.raises(KafkaStorageError):
        log.truncate_to(1)
    log.close_files()
    kept = values(Place(tmp_path).open(CONFIG, recovery_point=40))
    assert kept[-20:] == [f"{number:03}" for number in range(20, 40)]
