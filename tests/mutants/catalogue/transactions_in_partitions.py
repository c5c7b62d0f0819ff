"""Faults in what partitions, and the channels to their coordinators, do for transactions."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

PEERS = "kafka_zk/metadata/peer_channels.py"
MARKERS = "kafka_zk/coordinator/transaction/marker_writer.py"
MARKERS_API = "kafka_zk/api/txn/write_txn_markers.py"
MARKERS_TESTS = "tests/unit/replication/test_transaction_markers.py"
PRODUCERS = "kafka_zk/log/state/producer_state.py"
VERIFICATION = "kafka_zk/log/state/verification.py"
VERIFICATION_TESTS = "tests/unit/log/test_verification.py"
VERIFIER = "kafka_zk/replication/serving/transaction_verifier.py"
STATE = "tests/unit/log/test_producer_state.py"
PRODUCE = "tests/unit/replication/test_transactional_produce.py"
COMMIT = "tests/unit/coordinator/test_txn_offset_commit.py"
OFFSETS = "kafka_zk/coordinator/group/decisions/offsets.py"
OFFSETS_TESTS = "tests/unit/coordinator/test_offsets.py"
LOG_TESTS = "tests/unit/coordinator/test_coordinator_log.py"
PEERS_TESTS = "tests/unit/metadata/test_peer_channels.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a connection that the peer has closed is not used for a request",
        file=PEERS,
        old=" and node == self._node and not channel.is_closed:",
        new=" and node == self._node:",
        tests=f"{PEERS_TESTS} -k replaced",
    ),
    Mutant(
        breaks="a broker that has moved is reached at its new address",
        file=PEERS,
        old=" and node == self._node and not channel.is_closed:",
        new=" and not channel.is_closed:",
        tests=f"{PEERS_TESTS} -k elsewhere",
    ),
    Mutant(
        breaks="a broker that has left the cluster is not waited for",
        file=PEERS,
        old="        metadata_cache.on_change(lambda _changed, _deleted: self._forget_dead())\n",
        new="",
        tests=f"{PEERS_TESTS} -k leaves",
    ),
    Mutant(
        breaks="refused connections are not tried again without a pause",
        file=PEERS,
        old="        self._rest()\n",
        new="",
        tests=f"{PEERS_TESTS} -k pause",
    ),
    Mutant(
        breaks="no marker is written for a producer that cannot be",
        file=MARKERS,
        old="if found and (marker.producer_id < 0 or marker.producer_epoch < 0):",
        new="if found and marker.producer_id < 0:",
        tests=f"{MARKERS_TESTS} -k nobody",
    ),
    Mutant(
        breaks="markers are answered once the last one is replicated",
        file=MARKERS_API,
        old="self._unended = marker_count + 1",
        new="self._unended = marker_count",
        tests=f"{MARKERS_TESTS} -k last_marker",
    ),
    Mutant(
        breaks="a marker counts only when all replicas in sync have it",
        file=MARKERS,
        old="required_acks=ACKS_ALL",
        new="required_acks=1",
        tests=f"{MARKERS_TESTS} -k replicated",
    ),
    Mutant(
        breaks="groups learn of replicated markers only",
        file=MARKERS,
        old="                codes[topic_partition] = result.error.code\n",
        new="                codes[topic_partition] = result.error.code\n"
        "                of_groups[topic_partition.partition] = 0\n",
        tests=f"{MARKERS_TESTS} -k groups_learn_nothing",
    ),
    Mutant(
        breaks="a coordinator that was replaced ends no transactions",
        file=PRODUCERS,
        old="        if entry.coordinator_epoch > marker.coordinator_epoch:\n",
        new="        if False:\n",
        tests=f"{MARKERS_TESTS} -k older_coordinator",
    ),
    Mutant(
        breaks="a marker's epoch shuts out the producer of an older one",
        file=PRODUCERS,
        old="        entry = self._entry_at(header.producer_id, header.producer_epoch)\n        first_offset",
        new="        entry = self._entry_at(header.producer_id, NO_EPOCH)\n        first_offset",
        tests=f"{MARKERS_TESTS} -k shuts_out",
    ),
    Mutant(
        breaks="a marker keeps its producer known",
        file=PRODUCERS,
        old="        entry.last_timestamp = header.max_timestamp\n        if first_offset < 0:",
        new="        if first_offset < 0:",
        tests=f"{MARKERS_TESTS} -k keeps_its_producer",
    ),
    Mutant(
        breaks="readers of committed data go on when the marker is replicated",
        file=PRODUCERS,
        old="self._unreplicated[0].last_offset < high_watermark:",
        new="self._unreplicated[0].last_offset < 0:",
        tests=f"{MARKERS_TESTS} -k woken",
    ),
    Mutant(
        breaks="thousands of open transactions cost a move of the high watermark nothing",
        file=PRODUCERS,
        old="return next(iter(self._unstable), None)",
        new="return min(list(self._unstable), default=None)",
        tests=f"{STATE} -k however_many",
    ),
    Mutant(
        breaks="thousands of open transactions cost a marker nothing",
        file=PRODUCERS,
        old="        for first_offset in self._open:\n",
        new="        for first_offset in sorted(self._open):\n",
        tests=f"{STATE} -k however_many",
    ),
    Mutant(
        breaks="a transaction that ended before an older one keeps its place until it is replicated",
        file=PRODUCERS,
        old="            self._unstable.pop(self._unreplicated.popleft().first_offset, None)\n",
        new="            self._unreplicated.popleft()\n            self._unstable.popitem(last=False)\n",
        tests=f"{STATE} -k in_whatever_order",
    ),
    Mutant(
        breaks="open transactions of a snapshot are in the order they began",
        file=PRODUCERS,
        old="        self._open.update(sorted(opened))\n",
        new="        self._open.update(opened)\n",
        tests=f"{STATE} -k in_whatever_order",
    ),
    Mutant(
        breaks="a transaction begins in a partition with its guard only",
        file=PRODUCERS,
        old="not self.verifications.is_guarded_by(producer_id, guard)",
        new="guard is None",
        tests=f"{PRODUCE} -k overtakes",
    ),
    Mutant(
        breaks="a marker ends the verification that it overtakes",
        file=PRODUCERS,
        old="        self.verifications.end(header.producer_id)\n        entry = self._entry_at",
        new="        entry = self._entry_at",
        tests=f"{PRODUCE} -k overtakes",
    ),
    Mutant(
        breaks="the first batch of a transaction ends its verification",
        file=PRODUCERS,
        old="            self.verifications.end(header.producer_id)\n            if entry",
        new="            if entry",
        tests=f"{PRODUCE} -k same_transaction",
    ),
    Mutant(
        breaks="batches that wait together begin with the first that was sent",
        file=PRODUCERS,
        old="lowest is not None and header.base_sequence > lowest",
        new="lowest is not None and header.base_sequence > lowest + 1",
        tests=f"{PRODUCE} -k begin_with_the_first",
    ),
    Mutant(
        breaks="a verification expires",
        file=VERIFICATION,
        old="            if now_ms - each.began_ms < expiration_ms\n",
        new="",
        tests=f"{VERIFICATION_TESTS} -k expires",
    ),
    Mutant(
        breaks="a newer epoch brings its own lowest sequence",
        file=VERIFICATION,
        old="found.producer_epoch, found.lowest_sequence = producer_epoch, sequence",
        new="found.producer_epoch = producer_epoch",
        tests=f"{VERIFICATION_TESTS} -k newer_epoch",
    ),
    Mutant(
        breaks="plain batches beside transactional ones wait for no coordinator",
        file="kafka_zk/api/data/produced_transactions.py",
        old="        if is_transactional(records, ctx.api_version):\n",
        new="        if True:\n",
        tests=f"{PRODUCE} -k only_the_transactional",
    ),
    Mutant(
        breaks="one request to a coordinator is in flight",
        file=VERIFIER,
        old="        if coordinator in self._asked:\n            return\n",
        new="",
        tests=f"{PRODUCE} -k in_flight",
    ),
    Mutant(
        breaks="what came while a coordinator was asked is asked next",
        file=VERIFIER,
        old="            self._answered(questions[transactional_id], errors)\n        self._send(coordinator)\n",
        new="            self._answered(questions[transactional_id], errors)\n",
        tests=f"{PRODUCE} -k begin_with_the_first",
    ),
    Mutant(
        breaks="of two that wait for one transactional id the newer epoch stays",
        file=VERIFIER,
        old="if waiting.transaction.producer_epoch > epoch:",
        new="if False:",
        tests=f"{PRODUCE} -k later_or_newer",
    ),
    Mutant(
        breaks="a coordinator that is too old to be asked is done without",
        file=VERIFIER,
        old="            return {transactional_id: {} for transactional_id in questions}",
        new="            return _for_all(questions, ErrorCode.NETWORK_EXCEPTION)",
        tests=f"{PRODUCE} -k old_coordinator",
    ),
    Mutant(
        breaks="old producers do not learn of TRANSACTION_ABORTABLE",
        file=VERIFIER,
        old=" and not knows_abortable:",
        new=" and knows_abortable:",
        tests=f"{PRODUCE} -k as_producers_know",
    ),
    Mutant(
        breaks="a client that may not use a transactional id writes nothing with it",
        file="kafka_zk/api/data/produce.py",
        old="        if is_in_transaction and not _may_use(ctx, transactional_id):",
        new="        if is_in_transaction and transactional_id is None:",
        tests=f"{PRODUCE} -k who_may_not",
    ),
    Mutant(
        breaks="old clients do not learn that a coordinator loads",
        file="kafka_zk/api/group/txn_offset_commit.py",
        old=" and api_version < LOADING_FROM:",
        new=" and api_version < 0:",
        tests=f"{COMMIT} -k as_clients_know",
    ),
    Mutant(
        breaks="an offset that is being appended keeps a stable fetch waiting",
        file=OFFSETS,
        old="any(partition in commit.offsets for commit in self._commits) or any(",
        new="any(",
        tests=f"{OFFSETS_TESTS} -k only_once_its_record",
    ),
    Mutant(
        breaks="an offset of an open transaction keeps a stable fetch waiting",
        file=OFFSETS,
        old="            partition in offsets for offsets in self._transactions.values()\n",
        new="            partition in offsets for offsets in ()\n",
        tests=f"{LOG_TESTS} -k rule_63",
    ),
    Mutant(
        breaks="a marker ends no commit behind it that was being appended",
        file=OFFSETS,
        old="            if marker_offset > batch_offset:\n",
        new="            if marker_offset >= 0:\n",
        tests=f"{LOG_TESTS} -k behind_the_marker",
    ),
    Mutant(
        breaks="a marker that is heard of late ends no commit behind it",
        file=OFFSETS,
        old="            if found.batch_offset > marker_offset:\n",
        new="            if found.batch_offset < 0:\n",
        tests=f"{OFFSETS_TESTS} -k behind_the_marker",
    ),
    Mutant(
        breaks="the next marker finds the group of a commit behind the one before",
        file="kafka_zk/coordinator/group/decisions/open_transactions.py",
        old="        if not group.offsets.waits_for(producer_id):\n",
        new="        if producer_id:\n",
        tests=f"{LOG_TESTS} -k behind_the_marker",
    ),
    Mutant(
        breaks="what is verified while its partition moves to another log directory may begin there",
        file="kafka_zk/log/future_logs.py",
        old="        now.take_verifications_of(before)\n",
        new="",
        tests="tests/unit/log/test_verification.py -k takes_its_place",
    ),
)
