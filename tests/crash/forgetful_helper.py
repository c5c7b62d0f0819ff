"""The cleaner's helper process, played here and now: what it writes goes to the disk that forgets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kafka_zk.log.cleaner.chunks import filter_chunk
from kafka_zk.log.helper.wire import Descriptor
from tests.crash.forgetful_disk import ForgetfulDisk, PowerCut
from tests.unit.log.cleaner.given import HereAndNow

T = TypeVar("T")


class ForgetfulHelper(HereAndNow):
    def __init__(self, disk: ForgetfulDisk) -> None:
        super().__init__()
        self._disk = disk

    def call(self, task: Callable[..., T], *arguments: Any) -> T:
        if self._disk.is_off:
            raise PowerCut
        if task is not filter_chunk:
            return super().call(task, *arguments)
        # The table, the source, the target: the last one is written to.
        target = [each for each in arguments if isinstance(each, Descriptor)][-1]
        return self._disk.written_by(lambda: super(ForgetfulHelper, self).call(task, *arguments), target.fileno)
