"""Lives of a topic that allows unclean elections, and whose leaders need nobody in sync beside them to commit."""

from __future__ import annotations

from tests.simulation.whole_life import Steps, WholeLife


class UncleanLife(WholeLife):
    unclean = True
    min_isr = 1

    def steps(self) -> Steps:
        return {
            self.pause: 20,
            self.kill: 5,
            self.stop: 1,
            self.start: 7,
            self.expire: 1,
            self.heal_zookeeper: 2,
            self.freeze: 2,
            self.thaw: 3,
            self.depose: 2,
            self.elect_preferred: 2,
            self.cut_both_ways: 1,
            self.heal: 1,
        }
