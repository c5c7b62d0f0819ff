"""Faults of groups that end, of coordinators that move or fail, and of what operators ask in odd words."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a load that meets what passes is tried again",
        file="kafka_zk/coordinator/loads.py",
        old="                if isinstance(error, MAY_PASS):\n",
        new="                if isinstance(error, TimeoutError):\n",
        tests="tests/unit/coordinator/test_loads.py -k what_passes",
    ),
    Mutant(
        breaks="a load that meets bad bytes is given up",
        file="kafka_zk/coordinator/loads.py",
        old="MAY_PASS = (KafkaStorageError, ",
        new="MAY_PASS = (Exception, ",
        tests="tests/unit/coordinator/test_loads.py -k bad_bytes",
    ),
    Mutant(
        breaks="a dead group writes no record",
        file="kafka_zk/coordinator/group/performer.py",
        old="""        if group.is_dead:
            # It ended before its record was written: after the tombstone, the record would restore it.
            return
""",
        new="",
        tests="tests/unit/coordinator/test_ends_of_groups.py -k right_behind",
    ),
    Mutant(
        breaks="who deletes a group or offsets is told that their tombstones were refused",
        file="kafka_zk/coordinator/state_log.py",
        old="            return result[0].error.code\n",
        new="            return ErrorCode.NONE\n",
        tests="tests/unit/coordinator/test_ends_of_groups.py -k not_deleted",
    ),
    Mutant(
        breaks="offsets whose tombstones are refused are put back",
        file="kafka_zk/coordinator/group/manager.py",
        old="                        self._put_back(group, removal.offsets)\n",
        new="                        pass\n",
        tests="tests/unit/coordinator/test_ends_of_groups.py -k next_look",
    ),
    Mutant(
        breaks="what some of several batches of tombstones took is not put back with the rest",
        file="kafka_zk/coordinator/group/manager.py",
        old="                    removal.offsets.pop(partition, None)\n",
        new="                    pass\n",
        tests="tests/unit/coordinator/test_ends_of_groups.py -k several_batches",
    ),
    Mutant(
        breaks="a group whose tombstone is refused is put back",
        file="kafka_zk/coordinator/group/manager.py",
        old="            self._raise(current)\n",
        new="            pass\n",
        tests="tests/unit/coordinator/test_ends_of_groups.py -k stay_away",
    ),
    Mutant(
        breaks="tombstones of a deleted topic's offsets that are refused are written later",
        file="kafka_zk/coordinator/group/manager.py",
        old="                    self._unburied.append((group, some))\n",
        new="                    pass\n",
        tests="tests/unit/coordinator/test_ends_of_groups.py -k stay_away",
    ),
    Mutant(
        breaks="what another broker deleted meanwhile is not put back",
        file="kafka_zk/coordinator/group/manager.py",
        old="        return load is not None and self._load_of(group) is load\n",
        new="        return load is not None and self._load_of(group) is not None\n",
        tests="tests/unit/coordinator/test_overtaking.py -k not_put_back",
    ),
    Mutant(
        breaks="a commit on its way is put back with what is put back",
        file="kafka_zk/coordinator/group/decisions/offsets.py",
        old="                    commit.offsets[partition] = value\n",
        new="                    pass\n",
        tests="tests/unit/coordinator/test_ends_of_groups.py -k commit_on_its_way",
    ),
    Mutant(
        breaks="a coordinator whose log directory fails says so to its groups",
        file="kafka_zk/coordinator/leadership.py",
        old="        replica_manager.on_offline(self.on_offline)\n",
        new="",
        tests="tests/unit/coordinator/test_failed_directory.py -k sent",
    ),
    Mutant(
        breaks="what was asked in one leadership is not appended to __consumer_offsets in another",
        file="kafka_zk/coordinator/state_log.py",
        old="if has_to_wait and self._replica_manager.leadership_of(topic_partition) != leadership:",
        new="if leadership is None:",
        tests="tests/unit/coordinator/test_overtaking.py -k its_turn",
    ),
    Mutant(
        breaks="a coordinator that stays takes what waits for its turn in its next epoch too",
        file="kafka_zk/replication/manager.py",
        old="return partition.leadership if partition is not None and partition.is_leader else None",
        new="return partition.leader_epoch if partition is not None and partition.is_leader else None",
        tests="tests/unit/coordinator/test_overtaking.py -k leader_that_stayed",
    ),
    Mutant(
        breaks="a static member whose new id took long to store has a session from its answer on",
        file="kafka_zk/coordinator/group/decisions/syncing.py",
        old="    group.answer_join(member, result, step)\n    keep_alive(member, step)\n",
        new="    group.answer_join(member, result, step)\n",
        tests="tests/unit/coordinator/test_static_members.py -k longer_than",
    ),
    Mutant(
        breaks="a coordinator whose partition is stopped hears of it though its log cannot be deleted",
        file="kafka_zk/replication/leadership.py",
        old="""                    stopped.append(stop)
                    self._stop(stop)
""",
        new="""                    self._stop(stop)
                    stopped.append(stop)
""",
        tests="tests/unit/coordinator/test_failed_directory.py -k deletion_meets",
    ),
    Mutant(
        breaks="offsets whose topic goes while their tombstones are on their way are not put back",
        file="kafka_zk/coordinator/group/manager.py",
        old="        self._let_none_return(gone)\n",
        new="",
        tests="tests/unit/coordinator/test_ends_of_groups.py -k whose_topic_goes",
    ),
    Mutant(
        breaks="who waits longest for a producer id gets the first one",
        file="kafka_zk/coordinator/transaction/producer_ids.py",
        old="self._waiting.popleft().complete(producer_id)",
        new="self._waiting.pop().complete(producer_id)",
        tests="tests/unit/coordinator/test_producer_ids.py",
    ),
    Mutant(
        breaks="a producer id that came too late goes to the next caller",
        file="kafka_zk/coordinator/transaction/producer_ids.py",
        old="            self._waiting.remove(waiting)\n",
        new="",
        tests="tests/unit/coordinator/test_producer_ids.py -k nobody_waits",
    ),
    Mutant(
        breaks="a group whose id no record holds is refused",
        file="kafka_zk/coordinator/group/coordinator.py",
        old=" or not is_storable(group_id):",
        new=":",
        tests="tests/unit/coordinator/test_coordinator_log.py -k whose_id_no_record_holds",
    ),
    Mutant(
        breaks="metadata that no record holds are refused",
        file="kafka_zk/coordinator/group/offset_store.py",
        old="        return is_storable(metadata)\n",
        new="        return True\n",
        tests="tests/unit/coordinator/test_coordinator_log.py -k metadata_that_no_record_holds",
    ),
    Mutant(
        breaks="a member with a name that no record holds is refused",
        file="kafka_zk/api/group/join_group.py",
        old="    if not all(map(is_storable, ",
        new="    if not any(map(is_storable, ",
        tests="tests/unit/api/test_many_failures.py -k name_that_no_record_holds",
    ),
    Mutant(
        breaks="a static member with a client id that no record holds is refused",
        file="kafka_zk/api/group/join_group.py",
        old="    yield from (join.new_member_id, join.client_id, join.protocol_type)\n",
        new="    yield from (join.new_member_id, join.protocol_type)\n",
        tests="tests/unit/api/test_many_failures.py -k name_that_no_record_holds",
    ),
)
