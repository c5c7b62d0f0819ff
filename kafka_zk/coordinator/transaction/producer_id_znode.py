"""Producer ids under a protocol before 3.0, whose controllers allocate none: each broker takes its blocks itself.

Role        Acts: one greenlet a block, which answers as a controller would.
Source      ProducerIdManager.zk; KIP-730.
"""

from __future__ import annotations

import gevent

from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import BrokerError, ErrorCode
from kafka_zk.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from kafka_zk.supervision import caught
from kafka_zk.zk.producer_ids import take_block
from kafka_zk.zk.session import ZkClient


class ZkProducerIds:
    """What a ProducerIdManager asks instead of the controller."""

    def __init__(self, zk: ZkClient) -> None:
        self._zk = zk

    def send(
        self, request: AllocateProducerIdsRequest, *, timeout_ms: int | None = None
    ) -> Pending[AllocateProducerIdsResponse]:
        """The next block of the broker that `request` names. ZooKeeper's session bounds the wait, not `timeout_ms`."""
        answer: Pending[AllocateProducerIdsResponse] = Pending()
        gevent.spawn(self._take, request.broker_id, answer)
        return answer

    def _take(self, broker_id: int, answer: Pending[AllocateProducerIdsResponse]) -> None:
        """Blocks."""
        try:
            block = take_block(self._zk, broker_id)
        except BrokerError as error:
            answer.fail(error)
            return
        except Exception as error:
            # A bug of ours: whoever waits for the block must not wait for ever.
            caught("ZkProducerIdManager")
            answer.fail(error)
            return
        answer.complete(
            AllocateProducerIdsResponse(
                error_code=ErrorCode.NONE, producer_id_start=block.first, producer_id_len=block.last - block.first + 1
            )
        )
