"""Faults in leading, following and waiting."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a leader at another address is followed there",
        file="kafka_zk/replication/leadership.py",
        old="            self._fetchers.follow_addresses()\n",
        new="",
        tests="tests/unit/replication/test_fetchers.py -k address",
    ),
    Mutant(
        breaks="no partition is forgotten with the address of its leader",
        file="kafka_zk/replication/following/fetchers.py",
        old="for partition in fetcher.followed if partition.log is not None",
        new="for partition in fetcher.followed[:1] if partition.log is not None",
        tests="tests/unit/replication/test_fetchers.py -k all_its",
    ),
    Mutant(
        breaks="a fetcher that is stopped begins no back-off",
        file="kafka_zk/replication/following/fetcher.py",
        old="        if self._stopped:\n            return\n        self._stirred.clear()\n",
        new="        self._stirred.clear()\n",
        tests="tests/unit/replication/test_fetchers.py -k stop_waits",
    ),
    Mutant(
        breaks="a follower's fetch of an earlier epoch is no progress in this one",
        file="kafka_zk/replication/serving/fetch.py",
        old="    if 0 <= fetch.current_leader_epoch != partition.leader_epoch:\n        return False\n    log =",
        new="    log =",
        tests="tests/unit/replication/test_fetches_overtaken.py -k lead_again",
    ),
    Mutant(
        breaks="a follower's fetch of a deleted topic is no progress in its successor",
        file="kafka_zk/replication/serving/fetch.py",
        old="    return log is not None and (log.topic_id is None or fetch.topic_id in (log.topic_id, NULL_UUID))\n",
        new="    return log is not None\n",
        tests="tests/unit/replication/test_fetches_overtaken.py -k make_anew",
    ),
    Mutant(
        breaks="nothing is committed while a member of the ISR is no replica",
        file="kafka_zk/replication/leading/high_watermark.py",
        old="    if unknown_count > 0:\n        return current\n",
        new="",
        tests="tests/unit/replication/test_isr_rules.py -k no_replica",
    ),
    Mutant(
        breaks="a bug in one operation that waits keeps no other waiting",
        file="kafka_zk/replication/purgatory.py",
        old='                caught(f"{self.name} purgatory", key)\n',
        new="                raise\n",
        tests="tests/unit/replication/test_purgatory.py -k a_bug",
    ),
)
