"""Faults in the throttle of replicas: what it counts, and who waits for it."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

ACCOUNT = "tests/unit/replication/test_throttle.py"
FETCHES = "tests/unit/replication/test_throttled_fetches.py"
FETCH = "kafka_zk/replication/serving/fetch.py"
FETCHER = "kafka_zk/replication/following/fetcher.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="the time of a throttle's rate begins when it is first asked",
        file="kafka_zk/metrics/windows.py",
        old="            self._samples.append(_Sample(now_ms))\n        total",
        new="            return 0.0\n        total",
        tests=f"{ACCOUNT} -k kafkas",
    ),
    Mutant(
        breaks="a throttle's rate is over one window at least, not over all of them",
        file="kafka_zk/metrics/windows.py",
        old="total / (max(elapsed_ms, self._window_ms) / 1000)",
        new="total / (self.span_ms(now_ms) / 1000)",
        tests=f"{ACCOUNT} -k kafkas",
    ),
    Mutant(
        breaks="a broker's own rate is stronger than that of all brokers",
        file="kafka_zk/replication/throttle.py",
        old="layers.dynamic_broker.get(key, layers.dynamic_default.get(key, UNLIMITED))",
        new="layers.dynamic_default.get(key, layers.dynamic_broker.get(key, UNLIMITED))",
        tests=f"{ACCOUNT} -k of_all",
    ),
    Mutant(
        breaks="a follower that is in sync never waits for the throttle",
        file=FETCH,
        old="            and replica_id not in partition.isr.committed\n",
        new="",
        tests=f"{FETCHES} -k does_not_wait",
    ),
    Mutant(
        breaks="more records do not end the wait of a follower that is held back",
        file=FETCH,
        old="self._holds_back(partition, params.replica_id):\n                return 0\n",
        new="False:\n                return 0\n",
        tests=f"{FETCHES} -k held_back_waits",
    ),
    Mutant(
        breaks="a rolled segment does not answer a follower that is held back",
        file="kafka_zk/replication/serving/records_view.py",
        old="        self.is_on_older_segment = False\n\n    @property\n    def answers",
        new="\n    @property\n    def answers",
        tests=f"{FETCHES} -k rolled",
    ),
    Mutant(
        breaks="a throttled partition that is known to be at the leader's end is fetched",
        file=FETCHER,
        old="            followed.state.lag_records != 0\n            and ",
        new="            ",
        tests=f"{FETCHES} -k leaders_end",
    ),
    Mutant(
        breaks="what a follower fetched of a throttled partition is counted",
        file=FETCHER,
        old='            self._throttle.record(len(records or b""))\n',
        new="            pass\n",
        tests=f"{FETCHES} -k counts_what",
    ),
    Mutant(
        breaks="what a leader sends to followers is counted",
        file="kafka_zk/api/data/fetch.py",
        old="            manager.leader_throttle.record(throttled_bytes(",
        new="            (throttled_bytes(",
        tests=f"{FETCHES} -k as_large",
    ),
    Mutant(
        breaks="a changed rate holds while the broker runs",
        file="kafka_zk/replication/manager.py",
        old="        self.follower_throttle.follow_config()\n",
        new="",
        tests=f"{FETCHES} -k once_it_may",
    ),
)
