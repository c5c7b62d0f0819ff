"""What is appended behind a gap, while a thread still writes it: a start after a kill takes the gap for no loss."""

from __future__ import annotations

import threading
from pathlib import Path
from uuid import UUID

import gevent

from kafka_zk.log.files.disk import MachineDisk
from kafka_zk.log.local.local_log import POOLED_BYTES
from kafka_zk.protocol.types import Buffer
from kafka_zk.record.walking import assign_offsets
from tests.unit.log.given import TP, killed, manager_on, produced, topic_config, values

PATIENCE_S = 30


class GatedDisk(MachineDisk):
    """A large write waits until it may go on."""

    def __init__(self) -> None:
        self.is_reached = threading.Event()
        self.may_go_on = threading.Event()

    def pwrite(self, descriptor: int, data: Buffer, position: int) -> int:
        if len(data) >= POOLED_BYTES:
            self.is_reached.set()
            assert self.may_go_on.wait(PATIENCE_S)
        return super().pwrite(descriptor, data, position)


def fetched(*texts: str, offset: int) -> bytearray:
    batch = bytearray(produced(*texts))
    assign_offsets(batch, offset, 0)
    return batch


def test_a_gap_that_a_roll_leaves_before_a_large_write_is_not_taken_for_a_loss(tmp_path: Path) -> None:
    disk = GatedDisk()
    manager = manager_on(tmp_path, configs={TP.topic: topic_config(segment_bytes=POOLED_BYTES * 2)}, disk=disk)
    manager.startup()
    log = manager.get_or_create_log(TP, topic_id=UUID(int=1), is_new=True)
    log.append_as_follower(fetched("before", offset=0))
    large = "x" * (POOLED_BYTES * 2 - 100)
    appending = gevent.spawn(log.append_as_follower, fetched(large, offset=80))
    with gevent.Timeout(PATIENCE_S):
        while not disk.is_reached.is_set():
            gevent.sleep(0.001)
    log.flusher.wait()
    assert [each.base_offset for each in log.segments] == [0, 80]
    disk.may_go_on.set()
    appending.get(timeout=PATIENCE_S)
    killed(manager)
    manager = manager_on(tmp_path)
    manager.startup()
    found = manager.get_log(TP)
    assert found is not None
    assert values(found) == ["before", large]
    manager.shutdown()
