"""Broker registration: /brokers/ids, and generated broker ids.

Role        Acts, through the session. Called at start-up and after the loss of a session.
Invariants  A registration is one multi, so its znode has version 1 and czxid == mzxid; the czxid is the broker epoch.
            Only a znode of this broker's own present or previous session is ever taken over; any other owner is another
            living process with the same id.
Source      KafkaZkClient.registerBroker and its CheckedEphemeral, KafkaServer.createBrokerInfo; KAFKA-1387, KAFKA-7165.
"""

from __future__ import annotations

import logging

from kafka_zk.zk.errors import EndPointsTaken, NodeExists, NoNode, ZkError
from kafka_zk.zk.existing import existing
from kafka_zk.zk.operations import Create, SetData, Stat
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import BrokerIdsZNode, BrokerIdZNode, BrokerRegistration, BrokerSequenceIdZNode

log = logging.getLogger("kafka.zk.KafkaZkClient")


def register_broker(zk: ZkClient, registration: BrokerRegistration, *, generation: int | None = None) -> int:
    """Blocks. Create this broker's znode and return its broker epoch; from then on writes are allowed again.

    Raises NodeExists when another session holds the id, SessionExpired when `generation` is over.
    """
    path = BrokerIdZNode.path(registration.broker_id)
    log.info("Creating %s (is it secure? %s)", path, str(zk.is_secure).lower())
    stat = _create_ephemeral(zk, path, BrokerIdZNode.encode(registration), generation)
    zk.resume(zk.generation if generation is None else generation)
    log.info(
        "Registered broker %d at path %s with addresses: %s, czxid (broker epoch): %d",
        registration.broker_id,
        path,
        ",".join(endpoint.connection_string for endpoint in registration.endpoints),
        stat.czxid,
    )
    return stat.czxid


def _create_ephemeral(zk: ZkClient, path: str, data: bytes, generation: int | None) -> Stat:
    while True:
        created, written = zk.multi([Create(path, ephemeral=True), SetData(path, data, 0)], generation=generation)
        if not isinstance(created, ZkError):
            stat: Stat = written
            return stat
        if not isinstance(created, NodeExists):
            raise created
        present = zk.exists(path)
        if present is None:
            continue
        if present.ephemeral_owner == zk.session_id:
            # The reply to an earlier attempt was lost with its connection.
            return present
        if present.ephemeral_owner and present.ephemeral_owner == zk.previous_session_id:
            # ZooKeeper has ended that session and not yet dropped its znodes (ZOOKEEPER-2985).
            _delete_if_unchanged(zk, path, present, generation)
            continue
        log.error(
            "Error while creating ephemeral at %s, node already exists and owner '0x%x' "
            "does not match current session '0x%x'",
            path,
            present.ephemeral_owner,
            zk.session_id,
        )
        raise NodeExists(path)


def _delete_if_unchanged(zk: ZkClient, path: str, present: Stat, generation: int | None) -> None:
    try:
        zk.delete(path, present.version, generation=generation)
    except NoNode:
        return


def update_registration(zk: ZkClient, registration: BrokerRegistration) -> None:
    """Blocks. Replace the data of this broker's znode after its listeners have changed; the broker epoch stays."""
    zk.set(BrokerIdZNode.path(registration.broker_id), BrokerIdZNode.encode(registration))


def check_endpoints_free(zk: ZkClient, registration: BrokerRegistration) -> None:
    """Blocks. Raises EndPointsTaken when another broker advertises one of these addresses."""
    ours = {_address(endpoint.host, endpoint.port) for endpoint in registration.endpoints}
    for other in live_brokers(zk).values():
        if other.broker_id == registration.broker_id:
            continue
        common = [_address(e.host, e.port) for e in other.endpoints if _address(e.host, e.port) in ours]
        if common:
            raise EndPointsTaken(
                detail=f"requirement failed: Configured end points {','.join(common)} in advertised listeners are "
                f"already registered by broker {other.broker_id}"
            )


def _address(host: str, port: int) -> str:
    return f"{host.lower()}:{port}"


def live_broker_ids(zk: ZkClient) -> list[int]:
    """Blocks. Sorted ids of the registered brokers."""
    return BrokerIdsZNode.ids(zk.children(BrokerIdsZNode.PATH))


def live_brokers(zk: ZkClient) -> dict[int, BrokerRegistration]:
    """Blocks. All registered brokers; their znodes' watches are set where there are listeners."""
    found = existing(zk, live_broker_ids(zk), BrokerIdZNode.path)
    return {broker_id: BrokerIdZNode.decode(*node, broker_id) for broker_id, node in found}


def generate_broker_id(zk: ZkClient, *, reserved_broker_max_id: int) -> int:
    """Blocks. An id that was never used, above the ids that operators choose."""
    try:
        stat = zk.set(BrokerSequenceIdZNode.PATH, b"")
    except NoNode:
        zk.ensure_path(BrokerSequenceIdZNode.PATH)
        stat = zk.set(BrokerSequenceIdZNode.PATH, b"")
    return reserved_broker_max_id + stat.version
