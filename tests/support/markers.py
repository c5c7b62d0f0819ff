"""Decided transactions whose markers are written: only then do two logs hold the same, and may a broker be stopped.

A coordinator answers EndTxn as soon as the decision is in its own log; markers follow. A broker that is stopped in
between leaves a transaction that looks open.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.transaction_results import TransactionState
from kafka_zk.protocol.errors import BrokerError
from tests.support.processes import wait_until

DECIDED = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


def wait_for_markers(client: str | Mapping[str, str]) -> None:
    """Blocks until no coordinator of a cluster has a decided transaction without its markers.

    `client`: the bootstrap servers, or the properties of a client that may list transactions. All brokers must be up.
    """
    properties = {"bootstrap.servers": client} if isinstance(client, str) else client
    with AdminClient(properties) as admin:

        def are_written() -> bool:
            try:
                found = admin.list_transactions(states=DECIDED)
            except BrokerError:
                return False  # A coordinator that is still loading, or moving.
            return bool(found) and not any(found.values())

        wait_until(are_written, "the markers of all decided transactions are written")
