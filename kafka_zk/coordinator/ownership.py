"""Which partitions of __consumer_offsets or __transaction_state this broker coordinates.

Role        Pure state.
Invariants  The leader epoch of a partition only grows until the partition is removed: older events are ignored.
            A partition is loading or owned, or neither; a superseded load cannot end in ownership.
Source      Kafka 3.9 GroupMetadataManager: ownedPartitions, loadingPartitions, maybeUpdateCoordinatorEpoch;
            TransactionStateManager: loadingPartitions, leavingPartitions.
"""

from __future__ import annotations

from kafka_zk.protocol.errors import ErrorCode


class Load:
    """One attempt to load a partition. Valid only while it is the current one.

    `leader_epoch` grows while the leader stays the same.
    """

    __slots__ = ("leader_epoch", "partition", "topic")

    def __init__(self, topic: str, partition: int, leader_epoch: int) -> None:
        self.topic = topic
        self.partition = partition
        self.leader_epoch = leader_epoch

    def __repr__(self) -> str:
        return f"load of {self.topic}-{self.partition} at epoch {self.leader_epoch}"


class Ownership:
    """By partition index of `topic`."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._epochs: dict[int, int] = {}
        self._owned: dict[int, Load] = {}
        self._loading: dict[int, Load] = {}

    @property
    def is_loading(self) -> bool:
        return bool(self._loading)

    def loading_by(self, partition: int) -> Load | None:
        """The load that is queued or running; None if there is none."""
        return self._loading.get(partition)

    def check(self, partition: int) -> ErrorCode:
        """NONE if this broker coordinates the partition, else the error."""
        if partition in self._owned:
            return ErrorCode.NONE
        if partition in self._loading:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ErrorCode.NOT_COORDINATOR

    def loaded_by(self, partition: int) -> Load | None:
        """The load that filled memory with what a partition says; None if this broker is not the coordinator."""
        return self._owned.get(partition)

    def elected(self, partition: int, leader_epoch: int) -> Load | None:
        """This broker leads the partition now. Returns the load to run; None if there is nothing to load."""
        if leader_epoch < self._epochs.get(partition, leader_epoch):
            return None
        self._epochs[partition] = leader_epoch
        known = self._owned.get(partition) or self._loading.get(partition)
        if known is not None:
            # The leader stayed the same: memory is newer than what a load can read. Another one may have led in
            # between, unheard of here, and written markers with its epoch: only those with the new one count now.
            known.leader_epoch = leader_epoch
            return None
        load = self._loading[partition] = Load(self._topic, partition, leader_epoch)
        return load

    def is_current(self, load: Load) -> bool:
        return self._loading.get(load.partition) is load

    def loaded(self, load: Load) -> None:
        """All that a current load read is in memory."""
        assert self.is_current(load), f"{load} is no longer current"
        del self._loading[load.partition]
        self._owned[load.partition] = load

    def failed(self, load: Load) -> None:
        """The load ended with nothing."""
        if self.is_current(load):
            del self._loading[load.partition]

    def resigned(self, partition: int, leader_epoch: int | None) -> bool:
        """This broker no longer leads the partition (None: it was deleted); returns whether that changes anything."""
        if leader_epoch is None:
            # Recreated, it begins with epoch 0. Apache keeps the old one, and loads nothing until it restarts.
            self._epochs.pop(partition, None)
        elif leader_epoch < self._epochs.get(partition, leader_epoch):
            return False
        else:
            self._epochs[partition] = leader_epoch
        self._loading.pop(partition, None)
        self._owned.pop(partition, None)
        return True
