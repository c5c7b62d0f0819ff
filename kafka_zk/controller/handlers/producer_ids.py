"""Allocates blocks of producer ids to brokers.

Role        Acts, in the controller greenlet: the one writer of /latest_producer_id_block from protocol 3.0 on.
Invariants  A block is handed out only after its znode was written with the version just read: never twice.
Source      KafkaController.processAllocateProducerIds; ZkProducerIdManager.getNewProducerIdBlock; KIP-730.
"""

from __future__ import annotations

from kafka_zk.controller.active_controller import ActiveController
from kafka_zk.protocol.errors import BrokerIdNotRegistered, StaleBrokerEpoch
from kafka_zk.zk.producer_ids import BLOCK_SIZE, following_block


def allocate(controller: ActiveController, broker_id: int, broker_epoch: int) -> tuple[int, int]:
    """Blocks. (first id, count). Raises BrokerIdNotRegistered, StaleBrokerEpoch, UnknownServerError (ids used up)."""
    broker = controller.context.brokers.get(broker_id)
    if broker is None:
        controller.info(f"Ignoring AllocateProducerIds due to unknown broker {broker_id}")
        raise BrokerIdNotRegistered
    if broker.epoch != broker_epoch:
        controller.info(f"Ignoring AllocateProducerIds due to stale broker epoch {broker_epoch} of broker {broker_id}")
        raise StaleBrokerEpoch
    while True:
        last, zk_version = controller.store.last_producer_id()
        block = following_block(broker_id, last)
        if controller.store.write_producer_id_block(block, zk_version):
            controller.info(f"Acquired new producerId block {block.first}..{block.last} for broker {broker_id}")
            return block.first, BLOCK_SIZE
