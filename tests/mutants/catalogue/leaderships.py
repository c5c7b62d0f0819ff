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
        old="        self.leadership += is_new_leader\n",
        new="        self.leadership += 1\n",
        tests="tests/unit/replication/test_leaderships_end.py -k goes_on",
    ),
)
