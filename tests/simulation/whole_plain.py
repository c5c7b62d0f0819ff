"""Brokers are killed, stopped, frozen and expelled, and controllers deposed; no machine loses power."""

from __future__ import annotations

from tests.simulation.whole_life import Steps, WholeLife


class PlainLife(WholeLife):
    def steps(self) -> Steps:
        return {
            self.pause: 20,
            self.kill: 3,
            self.stop: 2,
            self.start: 7,
            self.expire: 2,
            self.heal_zookeeper: 3,
            self.freeze: 2,
            self.thaw: 3,
            self.set_wall_clock: 1,
            self.depose: 2,
            self.depose_in_the_middle: 2,
            self.elect_preferred: 3,
        }
