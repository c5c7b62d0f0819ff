"""Faults in the tools that move replicas and elect leaders: plans, throttles, waves, words."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

TOOL = "kafka_zk/tools/reassign_partitions"
TESTS = "tests/unit/tools/reassign_partitions"
MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="no two replicas of a drained partition come to one broker",
        file=f"{TOOL}/spread.py",
        old="if each.broker_id not in replicas and each.has_room(size)]",
        new="if each.broker_id != leaving and each.has_room(size)]",
        tests=f"{TESTS}/test_spread.py -k drained_broker_and_nothing",
    ),
    Mutant(
        breaks="a balanced partition is in as many racks as before",
        file=f"{TOOL}/spread.py",
        old="    return load.racks(after) >= load.racks(replicas) and taker.has_room(size)\n",
        new="    return taker.has_room(size)\n",
        tests=f"{TESTS}/test_spread.py -k keeps_brokers_and_racks",
    ),
    Mutant(
        breaks="equal replicas are levelled by the fewest moves",
        file=f"{TOOL}/spread.py",
        old="            if 0 < weight < difference and",
        new="            if 0 < weight <= difference and",
        tests=f"{TESTS}/test_spread.py -k fewest_moves",
    ),
    Mutant(
        breaks="a replica goes to a directory that has room for it",
        file=f"{TOOL}/cluster_load.py",
        old="if each.free_bytes is None or each.free_bytes > size]",
        new="if each.free_bytes is None or each.free_bytes > 0]",
        tests=f"{TESTS}/test_spread.py -k room",
    ),
    Mutant(
        breaks="what cannot move is not looked at for each move",
        file=f"{TOOL}/spread.py",
        old="            self.cursors[pair] = sized\n",
        new="",
        tests=f"{TESTS}/test_spread.py -k not_looked_at",
    ),
    Mutant(
        breaks="a rate that somebody else set is neither changed nor removed",
        file=f"{TOOL}/spread_throttle.py",
        old="            if others:\n",
        new="            if others and False:\n",
        tests=f"{TESTS}/test_spreading.py -k somebody_else",
    ),
    Mutant(
        breaks="a rate that was changed since is not removed",
        file=f"{TOOL}/spread_throttle.py",
        old="for name in RATES if found.get(name) == self._value]",
        new="for name in RATES if name in found]",
        tests=f"{TESTS}/test_spreading.py -k changed_meanwhile",
    ),
    Mutant(
        breaks="Ctrl-C waits for the moves under way before the throttle goes",
        file=f"{TOOL}/spreading.py",
        old="            if self.stop.is_asked and not is_own:\n",
        new="            if self.stop.is_asked:\n",
        tests=f"{TESTS}/test_spreading.py -k waits_for_the_wave",
    ),
    Mutant(
        breaks="moves that this run did not begin are not cancelled",
        file=f"{TOOL}/spreading.py",
        old="        if not is_own:\n            print(",
        new="        if False:\n            print(",
        tests=f"{TESTS}/test_spreading.py -k others_to_a_dead_broker",
    ),
    Mutant(
        breaks="a broker that restarts in time does not end a run",
        file=f"{TOOL}/spreading.py",
        old="if now - since >= self.grace_s}",
        new="if now - since >= 0}",
        tests=f"{TESTS}/test_spreading.py -k comes_back_in_time",
    ),
    Mutant(
        breaks="a dead broker is drained under a throttle of the living",
        file=f"{TOOL}/spread_throttle.py",
        old="(*change.before, *change.coming)} & living):",
        new="(*change.before, *change.coming)}):",
        tests=f"{TESTS}/test_spreading.py -k drained_under_a_throttle",
    ),
    Mutant(
        breaks="a throttle whose answer is lost is removed in the end",
        file=f"{TOOL}/spread_throttle.py",
        old="            self._brokers.append(broker_id)\n",
        new="",
        tests=f"{TESTS}/test_spreading.py -k answer_is_lost",
    ),
    Mutant(
        breaks="brokers are freed of a throttle though a topic cannot be",
        file=f"{TOOL}/spread_throttle.py",
        old="    except FAILURES as error:\n        return [sentence(",
        new="    except UnknownTopicOrPartition as error:\n        return [sentence(",
        tests=f"{TESTS}/test_spreading.py -k cannot_be_freed",
    ),
    Mutant(
        breaks="what stays of a throttle is told to whoever interrupts its removal",
        file=f"{TOOL}/spreading.py",
        old='        print("\\n".join(throttle.left()), flush=True)\n',
        new="",
        tests=f"{TESTS}/test_spreading.py -k interrupts_the_removal",
    ),
    Mutant(
        breaks="where a broker dies, the throttle stays until the others of the wave have arrived",
        file=f"{TOOL}/spreading.py",
        old="                if not is_own:\n                    return False\n",
        new="                return False\n",
        tests=f"{TESTS}/test_spreading.py -k others_of_its_wave",
    ),
    Mutant(
        breaks="Ctrl-C ends the wait for moves of others though nobody answers",
        file=f"{TOOL}/spreading.py",
        old="            if self.stop.is_asked and not is_own:\n                return False\n",
        new="",
        tests=f"{TESTS}/test_spreading.py -k nobody_answers",
    ),
    Mutant(
        breaks="what fails with brokers beside ZooKeeper goes to stdout, as in 2.8",
        file=f"{TOOL}/zookeeper.py",
        old="        failures=(*FAILURES, ZkError),\n",
        new="        failures=(JavaError, ZkError),\n",
        tests=f"{TESTS}/test_interrupted.py -k beside_zookeeper",
    ),
    Mutant(
        breaks="who ends an execute with Ctrl-C is told of its throttles, with ZooKeeper, too",
        file=f"{TOOL}/ends.py",
        old="        if interrupted:\n",
        new="        if False:\n",
        tests=f"{TESTS}/test_interrupted.py -k old_tool",
    ),
    Mutant(
        breaks="a number with a leading zero is named at its second digit",
        file="kafka_zk/tools/common/jackson_errors.py",
        old='        if character == "0" and self._is_digit():\n',
        new='        if character == "0" and self._is_digit() and self._next():\n',
        tests=f"{TESTS}/test_refusals.py",
    ),
    Mutant(
        breaks="an option of another action is refused",
        file=f"{TOOL}/options.py",
        old="        if name not in allowed:\n",
        new="        if name not in allowed and name in ACTIONS:\n",
        tests=f"{TESTS}/test_refusals.py",
    ),
    Mutant(
        breaks="an election tool refuses a file that names a partition twice",
        file="kafka_zk/tools/leader_election/__main__.py",
        old="if listed.count(each) > 1]",
        new="if listed.count(each) > 2]",
        tests="tests/unit/tools/test_elections.py -k leader_election",
    ),
    Mutant(
        breaks="replicas are compared up to the high watermark only",
        file="kafka_zk/tools/replica_verification/verification.py",
        old="batch.header.last_offset >= by_broker[broker_id].high_watermark:",
        new="batch.header.last_offset > by_broker[broker_id].high_watermark:",
        tests="tests/unit/tools/test_replica_verification.py",
    ),
)
