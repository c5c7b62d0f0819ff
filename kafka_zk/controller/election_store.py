"""Controller election: creates /controller and increments the epoch in one step.

Role        Acts, through the ZooKeeper session.
Invariants  /controller and the next epoch are written in one multi, or neither. A lost reply is no lost election: the
            znodes tell who won.
Source      KafkaZkClient.registerControllerAndIncrementControllerEpoch.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_zk.zk.cluster import controller
from kafka_zk.zk.errors import BadVersion, ControllerMoved, NodeExists, NoNode, RolledBack, ZkError
from kafka_zk.zk.operations import Create, SetData
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import ControllerEpochZNode, ControllerRegistration, ControllerZNode


class ElectionStore:
    """What every broker does with /controller, active or not."""

    def __init__(self, zk: ZkClient) -> None:
        self.zk = zk

    def watch_controller(self, mark_dirty: Callable[[], None]) -> None:
        """The next `active_controller_id` arms it."""
        self.zk.watch(ControllerZNode.PATH, "exists", mark_dirty)

    def active_controller_id(self) -> int | None:
        """Blocks. The id in /controller; None while there is none."""
        registration = controller(self.zk)
        return None if registration is None else registration.broker_id

    def win(self, broker_id: int, now_ms: int, generation: int) -> tuple[int, int]:
        """Blocks. Try to be elected in the session `generation`: (controller epoch, version of its znode).

        Raises ControllerMoved if another broker was, SessionExpired.
        """
        epoch, zk_version = self._current_epoch(generation)
        registration = ControllerRegistration(broker_id, now_ms)
        created, written = self.zk.multi(
            [
                Create(ControllerZNode.PATH, ControllerZNode.encode(registration), ephemeral=True),
                SetData(ControllerEpochZNode.PATH, ControllerEpochZNode.encode(epoch + 1), zk_version),
            ],
            generation=generation,
        )
        if not isinstance(created, ZkError):
            return epoch + 1, written.version
        if not isinstance(created, NodeExists) and not isinstance(written, BadVersion):
            raise written if isinstance(created, RolledBack) else created
        return self._check_lost_reply(broker_id, epoch + 1)

    def _current_epoch(self, generation: int) -> tuple[int, int]:
        """(epoch, znode version), made with 0 in a new cluster."""
        try:
            self.zk.create(ControllerEpochZNode.PATH, ControllerEpochZNode.encode(0), generation=generation)
        except NodeExists:
            data, stat = self.zk.get(ControllerEpochZNode.PATH)
            return ControllerEpochZNode.decode(data, stat), stat.version
        return 0, 0

    def _check_lost_reply(self, broker_id: int, epoch: int) -> tuple[int, int]:
        """Another multi was first. Was it our own, whose reply was lost? Raises ControllerMoved if not."""
        winner = self.active_controller_id()
        try:
            data, stat = self.zk.get(ControllerEpochZNode.PATH)
        except NoNode:
            data, stat = None, None
        if winner == broker_id and stat is not None and ControllerEpochZNode.decode(data, stat) == epoch:
            return epoch, stat.version
        raise ControllerMoved(
            "The controller moved to another broker. Aborting controller startup procedure"
            if winner is not None
            else "A controller has been elected but just resigned, this will result in another round of election"
        )
