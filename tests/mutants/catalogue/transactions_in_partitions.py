"""Faults in what partitions, and the channels to their coordinators, do for transactions."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

PEERS = "kafka_zk/metadata/peer_channels.py"
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
)
