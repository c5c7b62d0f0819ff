"""Allocates blocks of producer ids to brokers.

Role        Acts, in the controller greenlet: the one writer of /latest_producer_id_block.
Invariants  A block is handed out only after its znode was written with the version just read: never twice.
Source      KafkaController.processAllocateProducerIds; ZkProducerIdManager.getNewProducerIdBlock; KIP-730.
"""

from __future__ import annotations

from kafka_zk.controller.active_controller import ActiveController
from kafka_zk.protocol.errors import BrokerIdNotRegistered, StaleBrokerEpoch, UnknownServerError

BLOCK_SIZE = 1000
LARGEST_ID = 2**63 - 1


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
        first = 0 if last is None else last + 1
        if first > LARGEST_ID - BLOCK_SIZE:
            raise UnknownServerError(
                f"Exhausted all producerIds as the next block's end producerId has exceeded {last}"
            )
        if controller.store.write_producer_id_block(broker_id, first, first + BLOCK_SIZE - 1, zk_version):
            controller.info(f"Acquired new producerId block {first}..{first + BLOCK_SIZE - 1} for broker {broker_id}")
            return first, BLOCK_SIZE
