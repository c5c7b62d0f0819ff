"""What befalls the brokers of a simulated cluster, drawn from its chance: kills, stops, starts, cuts of the network."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.replication_cluster import BROKERS, Cluster


class Mishaps:
    """Each draws whom it befalls, and tells what it does."""

    def __init__(self, cluster: Cluster, tell: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._tell = tell

    def kill(self) -> None:
        self._end(in_order=False)

    def stop(self) -> None:
        self._end(in_order=True)

    def _end(self, *, in_order: bool) -> None:
        if self._cluster.members:
            broker_id = self._cluster.chance.choice(sorted(self._cluster.members))
            self._tell(f"{'stop' if in_order else 'kill'} {broker_id}")
            self._cluster.end(broker_id, in_order=in_order)

    def start(self) -> None:
        down = sorted(set(BROKERS) - set(self._cluster.members))
        if down:
            broker_id = self._cluster.chance.choice(down)
            self._tell(f"start {broker_id}")
            self._cluster.start(broker_id)

    def part(self) -> None:
        one, other = self._cluster.chance.sample(BROKERS, 2)
        self._tell(f"part {one} {other}")
        self._cluster.part(one, other)

    def heal(self) -> None:
        self._tell("heal")
        self._cluster.heal()

    def end(self) -> None:
        """From now on nothing is lost or parted."""
        self._tell("at rest")
        self._cluster.loses_replies = False
        self._cluster.heal()
