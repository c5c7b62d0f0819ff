"""Faults where a leadership ends, or its next epoch begins, while somebody is in the middle of something."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="records that were cut are not acknowledged for those that stand there now",
        file="kafka_zk/replication/hosted.py",
        old="        if partition.leadership != leadership:\n            raise NotLeaderOrFollower\n",
        new="",
        tests="tests/unit/replication/test_leaderships_end.py -k cut_is_not_acknowledged",
    ),
    Mutant(
        breaks="a deletion of records waits for the topic that it was asked of",
        file="kafka_zk/replication/serving/deletes.py",
        old="                return partition.low_watermark()\n",
        new="                return self._hosted.get(*partition.topic_partition).low_watermark()\n",
        tests="tests/unit/replication/test_leaderships_end.py -k deletion",
    ),
    Mutant(
        breaks="who goes on leading in the next epoch acknowledges what it has",
        file="kafka_zk/replication/partition.py",
        old="        if is_new_leader:\n            self.leadership",
        new="        if True:\n            self.leadership",
        tests="tests/unit/replication/test_leaderships_end.py -k goes_on",
    ),
    Mutant(
        breaks="a leader that goes on leading refuses nobody while its next epoch waits for an append",
        file="kafka_zk/replication/partition.py",
        old="""        with self._appends.held():
            if self._is_outdated(state):
                return False
            is_new_leader = not self.is_leader
""",
        new="""        is_new_leader, self.is_leader = not self.is_leader, False
        with self._appends.held():
            if self._is_outdated(state):
                return False
""",
        tests="tests/unit/replication/test_leaderships_end.py -k refuses_nobody",
    ),
    Mutant(
        breaks="who appends while a leader's next epoch begins is appended in that one",
        file="kafka_zk/replication/partition.py",
        old="            appends.wait_while_held()\n",
        new="            pass\n",
        tests="tests/unit/replication/test_leaderships_end.py -k refuses_nobody",
    ),
    Mutant(
        breaks="an append under way ends before the next epoch begins",
        file="kafka_zk/replication/leading/appends.py",
        old="                self._none_left.wait()\n",
        new="",
        tests="tests/unit/replication/test_leadership.py -k under_way",
    ),
    Mutant(
        breaks="a replica whose directory fails while its deletion waits for an append is not told of as deleted",
        file="kafka_zk/replication/leadership.py",
        old="        self._end(topic_partition)\n        if topic_partition in self._hosted.offline:\n",
        new="        self._end(topic_partition)\n        if False:\n",
        tests="tests/unit/replication/test_leaderships_end.py -k directory_fails",
    ),
    Mutant(
        breaks="an append that is still checked ends before its partition is deleted",
        file="kafka_zk/replication/leadership.py",
        old="            partition.delete()\n",
        new="            partition.go_offline()\n",
        tests="tests/unit/replication/test_leaderships_end.py -k still_checked",
    ),
    Mutant(
        breaks="who waits hears that an order could not be carried out",
        file="kafka_zk/replication/leadership.py",
        old="        self._fetchers.forget([topic_partition])\n        self._wake(partition)\n\n",
        new="        self._fetchers.forget([topic_partition])\n\n",
        tests="tests/unit/replication/test_leaderships_end.py -k who_waits_hears",
    ),
    Mutant(
        breaks="nobody fetches for a partition that could not follow",
        file="kafka_zk/replication/leadership.py",
        old="        self._fetchers.forget([topic_partition])\n        self._wake(partition)\n\n",
        new="        self._wake(partition)\n\n",
        tests="tests/unit/replication/test_leaderships_end.py -k could_not_follow",
    ),
    Mutant(
        breaks="an ISR change is not sent again for another leadership",
        file="kafka_zk/replication/leading/isr_changes.py",
        old=" if is_still_proposed(*each)}",
        new="}",
        tests="tests/unit/replication/test_leaderships_end.py -k isr_change",
    ),
    Mutant(
        breaks="a look-up by time does not say that there is nothing in a log that has gone",
        file="kafka_zk/replication/serving/reading.py",
        old="    if partition.log is not log or partition.leader_epoch != leader_epoch:\n",
        new="    if False:\n",
        tests="tests/unit/replication/test_leaderships_end.py -k look_up",
    ),
    Mutant(
        breaks="a fetch that waits for an index is answered from no other epoch than its own",
        file="kafka_zk/replication/serving/reading.py",
        old="    if partition.leader_epoch != leader_epoch:\n",
        new="    if False:\n",
        tests="tests/unit/replication/test_fetches_overtaken.py -k mended",
    ),
    Mutant(
        breaks="what waits to be appended to __consumer_offsets does not go into the next topic of that name",
        file="kafka_zk/replication/partition.py",
        old="next(self.context.leaderships)",
        new="self.leadership + 1",
        tests="tests/unit/coordinator/test_overtaking.py -k next_topic",
    ),
    Mutant(
        breaks="a follower takes no records of a later epoch than it asked in",
        file="kafka_zk/replication/following/fetcher.py",
        old="append_as_follower(records, state.leader_epoch)",
        new="append_as_follower(records, 1 << 30)",
        tests="tests/unit/replication/test_following.py -k later_epoch",
    ),
)
