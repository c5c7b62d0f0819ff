"""Faults that lose or double what is committed: each found by a life of a whole cluster.

By one of those that CI lives: the history of a seed changes with the code, and then another one finds it.
"""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

LIVES = "tests/simulation/test_whole_lives.py::test_the_invariants_hold_in_each_life"


def lives(kind: str) -> str:
    return f"{LIVES}[{kind}]"


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a member that joins counts for what is committed before its leader is told, in whole clusters",
        file="kafka_zk/replication/leading/high_watermark.py",
        old="maximal = isr.maximal",
        new="maximal = isr.committed",
        tests=lives("CutsLife"),
    ),
    Mutant(
        breaks="a follower is not cut to its high watermark, in whole clusters",
        file="kafka_zk/replication/following/fetcher.py",
        old="        latest_epoch=log.latest_epoch,\n",
        new="        latest_epoch=-1,\n",
        tests=lives("PlainLife"),
    ),
    Mutant(
        breaks="a controller of before writes nothing, in whole clusters",
        file="kafka_zk/controller/store.py",
        old="Check(znodes.ControllerEpochZNode.PATH, epoch_zk_version)",
        new="Check(znodes.ControllerEpochZNode.PATH, -1)",
        tests=f"{lives('PlainLife')} {lives('UncleanLife')}",
    ),
    Mutant(
        breaks="a follower has what it asks behind, not what it is sent, in whole clusters",
        file="kafka_zk/replication/serving/reading.py",
        old="            fetch_offset=wanted.fetch_offset,\n",
        new="            fetch_offset=answer.leader_end_offset,\n",
        tests=lives("PlainLife"),
    ),
    Mutant(
        breaks="a member that leaves counts until the controller agrees, in whole clusters",
        file="kafka_zk/replication/leading/isr.py",
        old="self.maximal = self.committed + tuple(member for member in members if member not in self.committed)",
        new="self.maximal = members",
        tests=lives("CutsLife"),
    ),
    Mutant(
        breaks="who begins to lead notes where its epoch begins, in whole clusters",
        file="kafka_zk/replication/partition.py",
        old="        if is_new_epoch:\n            log.assign_epoch_start(state.leader_epoch, start_offset)\n",
        new="",
        tests=lives("PlainLife"),
    ),
    Mutant(
        breaks="the checkpoint of high watermarks is not ahead of them, in whole clusters",
        file="kafka_zk/log/checkpoints.py",
        old="each.topic_partition: each.high_watermark for each",
        new="each.topic_partition: each.log_end_offset for each",
        tests=lives("PlainLife"),
    ),
    Mutant(
        breaks="a leader of before acknowledges nothing that its successor committed, in whole clusters",
        file="kafka_zk/replication/partition.py",
        old="        if not self.is_leader or log is None:\n            return ErrorCode.NOT_LEADER_OR_FOLLOWER\n",
        new="""        if log is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if not self.is_leader and log.high_watermark >= required_offset:
            return ErrorCode.NONE
""",
        tests=lives("CutsLife"),
    ),
    Mutant(
        breaks="only where the topic allows it an election loses records, in whole clusters",
        file="kafka_zk/controller/decisions/election.py",
        old="(unclean_allowed and isr_is_dead)",
        new="isr_is_dead",
        tests=lives("PlainLife"),
    ),
    Mutant(
        breaks="after a failure a member of the ISR leads, in whole clusters",
        file="kafka_zk/controller/decisions/election.py",
        old="        if replica in online and replica in isr:\n            return replica, False\n",
        new="        if replica in online:\n            return replica, False\n",
        tests=lives("PlainLife"),
    ),
    Mutant(
        breaks="the preferred replica leads only as a member of the ISR, in whole clusters",
        file="kafka_zk/controller/decisions/election.py",
        old="assigned[0] in online and assigned[0] in isr else None",
        new="assigned[0] in online else None",
        tests=lives("PlainLife"),
    ),
)
