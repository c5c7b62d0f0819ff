"""Faults in what brokers say to each other, to ZooKeeper and to clients."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="followers shift after each round of leaders, so that replica sets differ",
        file="kafka_zk/admin/assignment.py",
        old="            shift += 1\n",
        new="            shift += 0\n",
        tests="tests/unit/admin/test_assignment.py",
    ),
    Mutant(
        breaks="the bytes that others sent meanwhile are counted, too",
        file="kafka_zk/network/connection.py",
        old="            self._host.outgoing_bytes += sent_bytes\n",
        new="            self._host.outgoing_bytes = 4 + sent_bytes\n",
        tests="tests/integration/network/test_socket_server_slices.py -k beside",
    ),
    Mutant(
        breaks="a dynamic value that is wrong is left out, and does not keep the broker from starting",
        file="kafka_zk/config/dynamic.py",
        old='                complaints.append(f"{complaint}: {name}")\n                continue\n',
        new='                complaints.append(f"{complaint}: {name}")\n',
        tests="tests/unit/config/test_dynamic.py",
    ),
    Mutant(
        breaks="rule 25: the high watermark stands still below min.insync.replicas",
        file="kafka_zk/replication/leading/high_watermark.py",
        old="    if len(isr.committed) < min_isr:\n        return current\n",
        new="",
        tests="tests/unit/replication",
    ),
    Mutant(
        breaks="rule 26: a follower joins the ISR only with the start of the leader's epoch",
        file="kafka_zk/replication/leading/isr.py",
        old="        and follower.log_end_offset >= epoch_start_offset\n",
        new="",
        tests="tests/unit/replication/test_isr_rules.py",
    ),
    Mutant(
        breaks="rule 22: while a change is in flight the high watermark waits for the larger set",
        file="kafka_zk/replication/leading/isr.py",
        old="self.maximal = self.committed + tuple(",
        new="self.maximal = tuple(",
        tests="tests/unit/replication",
    ),
    Mutant(
        breaks="an incremental fetch answers only what is news",
        file="kafka_zk/replication/serving/fetch_session.py",
        old="            news.append(cached.is_news(read))",
        new="            cached.is_news(read)\n            news.append(True)",
        tests="tests/unit/replication/test_fetch_sessions.py",
    ),
    Mutant(
        breaks="rule 1: every write of a term is fenced by the controller epoch",
        file="kafka_zk/controller/store.py",
        old="self._fence = Check(znodes.ControllerEpochZNode.PATH, epoch_zk_version)",
        new="self._fence = Check(znodes.ControllerEpochZNode.PATH, -1)",
        tests="tests/simulation tests/unit/controller",
    ),
    Mutant(
        breaks="every election raises the leader epoch",
        file="kafka_zk/controller/decisions/election.py",
        old="leader_epoch=current.leader_epoch + 1",
        new="leader_epoch=current.leader_epoch",
        tests="tests/unit/controller",
    ),
    Mutant(
        breaks="rule 55: a member without an id is told to come back with one",
        file="kafka_zk/coordinator/group/decisions/joining.py",
        old="    elif join.requires_known_member_id:\n",
        new="    elif join.requires_known_member_id and group.members:\n",
        tests="tests/unit/coordinator",
    ),
    Mutant(
        breaks="rule 59: a full group takes nobody in",
        file="kafka_zk/coordinator/group/decisions/joining.py",
        old="return member is not None or len(group.members) < max_size",
        new="return member is not None or len(group.members) <= max_size",
        tests="tests/unit/coordinator",
    ),
    Mutant(
        breaks="the loop converts only a little for old fetchers",
        file="kafka_zk/api/data/old_fetchers.py",
        old="sum(each.piece.size_bytes for each in to_convert) > INLINE_BYTES",
        new="sum(each.piece.size_bytes for each in to_convert) > 1 << 40",
        tests="tests/unit/replication/test_old_fetchers.py",
    ),
    Mutant(
        breaks="a commit that is heard of after its transaction's marker ends with it",
        file="kafka_zk/coordinator/group/decisions/offsets.py",
        old="                commit.committed = is_commit\n",
        new="                pass\n",
        tests="tests/unit/coordinator/test_offsets.py",
    ),
    Mutant(
        breaks="a marker that comes while the partition loads waits for the end of the load",
        file="kafka_zk/coordinator/group/manager.py",
        old="            self._later(lambda: self._end_transactions(producer_id, loading, is_commit))\n",
        new="            self._end_transactions(producer_id, loading, is_commit)\n",
        tests="tests/unit/coordinator/test_coordinator_log.py -k marker",
    ),
    Mutant(
        breaks="rule 64: only commits that were appended are counted",
        file="kafka_zk/coordinator/group/offset_store.py",
        old="            if code is ErrorCode.NONE:\n                self._measures.offset_commits += 1\n",
        new="            self._measures.offset_commits += 1\n            if code is ErrorCode.NONE:\n",
        tests="tests/unit/coordinator/test_coordinator_log.py -k rule_64",
    ),
    Mutant(
        breaks="markers of transactions are no records that are left to be read",
        file="kafka_zk/log/files/header_walk.py",
        old="        return 0 if header.is_control else header.record_count\n",
        new="        return header.record_count\n",
        tests="tests/unit/coordinator/lag/test_record_counts.py",
    ),
    Mutant(
        breaks="a lag is never negative",
        file="kafka_zk/coordinator/lag/gauges.py",
        old="max(end - offset, 0)",
        new="end - offset",
        tests="tests/unit/coordinator/lag/test_group_lag.py -k negative",
    ),
)
