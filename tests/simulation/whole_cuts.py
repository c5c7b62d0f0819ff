"""Lives in which brokers cannot reach each other, one way or both ways, or cannot reach ZooKeeper."""

from __future__ import annotations

from tests.simulation.whole_life import Steps, WholeLife


class CutsLife(WholeLife):
    def steps(self) -> Steps:
        return {
            self.pause: 20,
            self.cut_one_way: 4,
            self.cut_both_ways: 3,
            self.heal: 4,
            self.isolate_a_leader: 3,
            self.lose_the_answer_to_an_expansion: 2,
            self.cut_from_zookeeper: 2,
            self.expire: 2,
            self.heal_zookeeper: 5,
            self.kill: 1,
            self.start: 2,
            self.freeze: 1,
            self.thaw: 2,
            self.depose: 1,
            self.elect_preferred: 2,
        }
