"""Lives in which machines lose power, one at a time, and with it what was not synced; controllers fall meanwhile.

As long as the controller does not know of it, or the machine is not back in every ISR, no other machine fails: Kafka
promises nothing for two at once.
"""

from __future__ import annotations

from tests.simulation.whole_life import TURN_MS, Steps, WholeLife
from tests.simulation.whole_members import Member

IN_THE_MIDDLE = 0.6
"""How often the power goes at a certain call of the disk."""
MOST_CALLS, MOST_TURNS_TO_WAIT = 8, 10


class PowerLossLife(WholeLife):
    def steps(self) -> Steps:
        return {
            self.pause: 20,
            self.cut_power: 6,
            self.start: 9,
            self.stop_if_all_are_well: 1,
            self.depose: 2,
            self.elect_preferred: 3,
            self.set_wall_clock: 1,
        }

    def cut_power(self) -> None:
        broker_id = self.some_member()
        if broker_id is not None and self._are_all_well():
            if self.chance.random() < IN_THE_MIDDLE:
                self._wait_for_a_call(self.cluster.members[broker_id])
            self.tell(f"{broker_id} loses power")
            self.observer.lost_power(broker_id)
            self.cluster.cut_power(broker_id)

    def _wait_for_a_call(self, member: Member) -> None:
        """Until it is in the middle of something: an append, the epoch file behind it, a roll, a checkpoint."""
        member.disk.arm(self.chance, cut_at=self.chance.randrange(1, MOST_CALLS))
        for _ in range(MOST_TURNS_TO_WAIT):
            self.run(1, ms=TURN_MS)
            if member.has_lost_power:
                return

    def stop_if_all_are_well(self) -> None:
        if self._are_all_well():
            self.stop()

    def _are_all_well(self) -> bool:
        """Whether all are there to stay, and in sync."""
        there = [each for each in self.cluster.members.values() if each.is_listening and not each.is_leaving]
        if len(there) < len(self.broker_ids):
            return False
        return all(
            account.state is not None and set(account.state.isr) == set(self.broker_ids) and not account.unpowered
            for account in self.observer.accounts.values()
        )
