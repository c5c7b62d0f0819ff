"""UNSTABLE_OFFSET_COMMIT is never for ever: whatever comes between the offsets of a transaction and its marker, whoever
asks for stable offsets is answered once the marker is there.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, product
from pathlib import Path

import pytest

from kafka_zk.protocol.errors import ErrorCode
from tests.unit.coordinator.test_coordinator_log import GROUP, TP, Coordinated, wait


class Scene(Coordinated):
    """A coordinator with a transaction that has offsets of a group; the tests are named after its methods."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._epochs = count(1)
        self.lead()
        self.commit(5)
        assert self.commit_in_transaction(6) is ErrorCode.NONE

    def goes_on(self) -> None:
        """The same transaction has more offsets."""
        self.commit_in_transaction(8)

    def is_overtaken(self) -> None:
        """By an offset that is in no transaction."""
        self.commit(7)

    def moves(self) -> None:
        """The partition goes to another broker, and comes back."""
        self.follow(epoch=next(self._epochs))
        self.lead(epoch=next(self._epochs))

    def loses_its_offsets(self) -> None:
        self.coordinator.delete_offsets(GROUP, [TP])
        wait(lambda: self.is_idle)

    def loses_its_group(self) -> None:
        self.coordinator.delete_groups([GROUP])
        wait(lambda: self.is_idle)

    def loses_its_topic(self) -> None:
        self.coordinator.handle_deleted_partitions([TP])
        wait(lambda: self.is_idle)


BETWEEN: tuple[Callable[[Scene], None], ...] = (
    Scene.goes_on,
    Scene.is_overtaken,
    Scene.moves,
    Scene.loses_its_offsets,
    Scene.loses_its_group,
    Scene.loses_its_topic,
)


@pytest.mark.parametrize("is_commit", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize(
    "between", list(product(BETWEEN, repeat=2)), ids=lambda between: "-and-".join(each.__name__ for each in between)
)
def test_a_stable_fetch_is_answered_once_the_marker_is_there(
    tmp_path: Path, between: tuple[Callable[[Scene], None], ...], is_commit: bool
) -> None:
    scene = Scene(tmp_path)
    try:
        for befalls in between:
            befalls(scene)
        scene.end_transaction(is_commit=is_commit)
        assert scene.fetch_code(stable=True) is ErrorCode.NONE
        assert not len(scene.coordinator._manager.open_transactions)
        scene.moves()
        assert scene.fetch_code(stable=True) is ErrorCode.NONE, "also by the next coordinator"
    finally:
        scene.close()
