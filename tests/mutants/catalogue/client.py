"""Faults in our own clients."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a commit that the next generation overtook can be made again",
        file="kafka_zk/client/consumer/group/commits.py",
        old="        elif code in _FENCED and self._membership.state in (MemberState.JOINING, MemberState.SYNCING):\n",
        new="        elif code in _FENCED and self._membership.lost:\n",
        tests="tests/unit/client/consumer/test_commits.py",
    ),
    Mutant(
        breaks="a listener may commit while its consumer is closed",
        file="kafka_zk/client/consumer/kafka_consumer.py",
        old="            self._is_closing = True\n",
        new="            self._is_closing = self._is_closed = True\n",
        tests="tests/unit/client/consumer/test_closing.py",
    ),
    Mutant(
        breaks="an admin looks up a coordinator again that has moved",
        file="kafka_zk/client/admin/coordinators.py",
        old="        if outcome is Again.LOADING:\n            return\n",
        new="        if isinstance(outcome, Again):\n            return\n",
        tests="tests/unit/client/admin/test_groups.py -k moved",
    ),
    Mutant(
        breaks="an admin's commit that meets a rebalance comes again",
        file="kafka_zk/client/admin/group_offsets.py",
        old="if each.error_code == ErrorCode.REBALANCE_IN_PROGRESS:",
        new="if each.error_code == ErrorCode.NOT_COORDINATOR:",
        tests="tests/unit/client/admin/test_groups.py -k rebalance",
    ),
    Mutant(
        breaks="a cooperative leader gives nobody what another member has still",
        file="kafka_zk/client/consumer/assignors/sticky.py",
        old="            if owners.get(partition, member_id) != member_id\n",
        new="            if owners.get(partition, member_id) != member_id and not owners\n",
        tests="tests/unit/client/consumer/test_assignors.py -k holds_back",
    ),
    Mutant(
        breaks="a partition far away does not stick",
        file="kafka_zk/client/consumer/assignors/sticky_alike.py",
        old="for partition in had if not racks.keep_apart(member_id, partition)]",
        new="for partition in had]",
        tests="tests/unit/client/consumer/test_racks.py -k stick",
    ),
    Mutant(
        breaks="what is joined by key stays together, racks or not",
        file="kafka_zk/client/consumer/assignors/range.py",
        old="                if len(alike) > 1:\n                    _give_together(alike)\n",
        new="                if len(alike) > 1:\n                    alike[0].give_runs(near_by=True)\n",
        tests="tests/unit/client/consumer/test_racks.py -k joined",
    ),
    Mutant(
        breaks="no record of an aborted transaction gets out under read_committed",
        file="kafka_zk/client/consumer/fetched_partition.py",
        old="self._aborted[0].first_offset <= header.last_offset:",
        new="self._aborted[0].first_offset < header.base_offset:",
        tests="tests/unit/client/consumer/test_fetched_partition.py -k committed",
    ),
    Mutant(
        breaks="after a lost answer a fetch names everything again",
        file="kafka_zk/client/consumer/fetch_session.py",
        old='so it is told to begin anew."""\n        self._epoch = INITIAL_EPOCH\n',
        new='so it is told to begin anew."""\n',
        tests="tests/unit/client/consumer/test_fetch_session.py -k always",
    ),
    Mutant(
        breaks="a heartbeat sent as somebody else changes nothing",
        file="kafka_zk/client/consumer/group/membership.py",
        old="if sent_as != self.identity or error_code == ErrorCode.NONE:",
        new="if error_code == ErrorCode.NONE:",
        tests="tests/unit/client/consumer/test_membership.py -k somebody",
    ),
    Mutant(
        breaks="the compiled decoder hands out nothing below the position",
        file="kafka_zk/client/consumer/_record_decoding.pyx",
        old="            if offset < first_offset:\n",
        new="            if offset < first_offset - 1:\n",
        tests="tests/unit/client/consumer/test_record_decoding.py -k decode_the_same",
    ),
    Mutant(
        breaks="a batch that is sent again stands before those that were never sent, in the order of the sequences",
        file="kafka_zk/client/producer/record_accumulator.py",
        old="        place += 1\n    batches.insert(place, batch)",
        new="        place += 1\n    batches.append(batch)",
        tests="tests/unit/client/producer/test_record_accumulator.py",
    ),
    Mutant(
        breaks="an error after a batch was sent under a new epoch is about that epoch",
        file="kafka_zk/client/producer/idempotence.py",
        old="            batch.sequence_was_reset = False\n",
        new="",
        tests="tests/unit/client/producer/test_idempotence.py",
    ),
    Mutant(
        breaks="memory that a batch held is free once its fate is known",
        file="kafka_zk/client/producer/record_accumulator.py",
        old="            self.pool.give_back(batch.allocated_bytes)\n            batch.allocated_bytes = 0",
        new="            batch.allocated_bytes = 0",
        tests="tests/unit/client/producer/test_record_accumulator.py",
    ),
    Mutant(
        breaks="records that cannot be compressed fail",
        file="kafka_zk/client/producer/sender.py",
        old="            self._fail_here(batch, error)\n            return False\n",
        new="            return False\n",
        tests="tests/unit/client/producer/test_producer.py -k cannot_be_compressed_fail",
    ),
    Mutant(
        breaks="the thread of a group outlives a fault and tells of it",
        file="kafka_zk/client/consumer/group/coordinator_link.py",
        old="        self._failure = error\n        # The answer",
        new="        # The answer",
        tests="tests/unit/client/consumer/test_coordinator_link.py",
    ),
    Mutant(
        breaks="a client that can reach no broker waits for the pause after a failure",
        file="kafka_zk/client/network/network_client.py",
        old="for each in self.metadata.snapshot.nodes]",
        new="for each in self._connections]",
        tests="tests/unit/client/network/test_network_client.py -k no_known_broker",
    ),
    Mutant(
        breaks="the reader of a range may take its time",
        file="kafka_zk/client/range_reading/range_reader.py",
        old="is no lack of progress.\n            self._progress_ms = self._clock.monotonic_ms()\n",
        new="is no lack of progress.\n",
        tests="tests/unit/client/range_reading/test_range_reader.py",
    ),
)
