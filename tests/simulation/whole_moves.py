"""Lives in which replicas move between four brokers, and moves are cancelled and replaced, while brokers fail."""

from __future__ import annotations

from kafka_zk.controller import events
from tests.simulation.whole_life import Steps, WholeLife


class MovesLife(WholeLife):
    broker_ids = (1, 2, 3, 4)

    def steps(self) -> Steps:
        return {
            self.pause: 20,
            self.move: 6,
            self.cancel: 1,
            self.kill: 2,
            self.stop: 1,
            self.start: 6,
            self.expire: 1,
            self.heal_zookeeper: 2,
            self.depose: 2,
            self.elect_preferred: 2,
            self.freeze: 1,
            self.thaw: 2,
        }

    def move(self) -> None:
        partition = self.chance.choice(self.partitions)
        target = tuple(self.chance.sample(self.broker_ids, self.chance.choice((2, 3, 3))))
        self.tell(f"move {partition} to {target}")
        self.cluster.ask_controller(events.ApiPartitionReassignment({partition: target}))

    def cancel(self) -> None:
        self.tell("cancel all moves")
        self.cluster.ask_controller(events.ApiPartitionReassignment(dict.fromkeys(self.partitions)))
