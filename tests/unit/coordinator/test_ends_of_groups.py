"""Groups and offsets that are deleted or expire: the log and the answer say the same, whatever happens meanwhile."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import gevent

from kafka_zk.coordinator.group.coordinator import Leaver
from kafka_zk.coordinator.group.decisions.records import group_key
from kafka_zk.protocol.errors import ErrorCode

from .test_coordinator_log import GROUP, Coordinated


def test_a_group_that_is_deleted_right_behind_its_last_member_leaves_no_record_behind(tmp_path: Path) -> None:
    """The record of the empty group is on its way to the log then."""
    with closing(Coordinated(tmp_path, spawn=gevent.spawn)) as made:
        made.lead()
        member = made.member()
        made.coordinator.leave_group(GROUP, [Leaver(member, None, "")])
        assert made.coordinator.delete_groups([GROUP]) == {GROUP: ErrorCode.NONE}
        gevent.sleep(0)
        assert made.records()[-1] == (group_key(GROUP), None)
        made.follow(epoch=1)
        made.lead(epoch=2)
        assert made.coordinator.list_groups() == (ErrorCode.NONE, [])
