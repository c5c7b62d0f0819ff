"""Faults in what partitions, and the channels to their coordinators, do for transactions."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

PEERS = "kafka_zk/metadata/peer_channels.py"
MARKERS = "kafka_zk/api/txn/write_txn_markers.py"
MARKERS_TESTS = "tests/unit/replication/test_transaction_markers.py"
PRODUCERS = "kafka_zk/log/state/producer_state.py"
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
        file=MARKERS,
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
        old=" and code is ErrorCode.NONE\n",
        new="\n",
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
        old="first: marker for first, marker in self._unreplicated.items() if marker >= high_watermark",
        new="first: marker for first, marker in self._unreplicated.items() if marker >= 0",
        tests=f"{MARKERS_TESTS} -k woken",
    ),
)
