"""Blocks of producer ids in ZooKeeper: which comes next, and taking one without the controller.

Role        Acts, through the session. From protocol 3.0 on only the controller writes the znode, under its fence.
Invariants  A block belongs to who wrote the znode with the version just read: it is never taken twice.
Source      ZkProducerIdManager.getNewProducerIdBlock; KIP-730.
"""

from __future__ import annotations

import logging

from kafka_zk.protocol.errors import UnknownServerError
from kafka_zk.zk.errors import BadVersion
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import ProducerIdBlock, ProducerIdBlockZNode

BLOCK_SIZE = 1000
LARGEST_ID = 2**63 - 1

log = logging.getLogger("kafka.coordinator.transaction.ZkProducerIdManager")


def following_block(broker_id: int, last: int | None) -> ProducerIdBlock:
    """The block behind `last` (None: the first one). Raises UnknownServerError if the ids are used up."""
    first = 0 if last is None else last + 1
    if first > LARGEST_ID - BLOCK_SIZE:
        raise UnknownServerError(f"Exhausted all producerIds as the next block's end producerId has exceeded {last}")
    return ProducerIdBlock(broker_id, first, first + BLOCK_SIZE - 1)


def take_block(zk: ZkClient, broker_id: int) -> ProducerIdBlock:
    """Blocks. A block that is this broker's from now on. Raises UnknownServerError, ZkError."""
    while True:
        data, stat = zk.get(ProducerIdBlockZNode.PATH)
        found = ProducerIdBlockZNode.decode(data, stat)
        block = following_block(broker_id, None if found is None else found.last)
        try:
            version = zk.set(ProducerIdBlockZNode.PATH, ProducerIdBlockZNode.encode(block), stat.version).version
        except BadVersion:
            continue
        taken = f"{block.first}..{block.last}"
        log.info("Acquired new producerId block %s by writing to Zk with path version %d", taken, version)
        return block
