"""ConsumerGroupHeartbeat (key 68, v0): listed, and refused: in ZooKeeper mode there is only the classic protocol.

Source      KafkaApis.handleConsumerGroupHeartbeat (its branch without the new coordinator).
"""

from __future__ import annotations

from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.protocol.errors import UnsupportedVersion
from kafka_zk.protocol.messages.consumer_group_heartbeat import (
    CONSUMER_GROUP_HEARTBEAT_REQUEST,
    CONSUMER_GROUP_HEARTBEAT_RESPONSE,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


@api(CONSUMER_GROUP_HEARTBEAT_REQUEST, CONSUMER_GROUP_HEARTBEAT_RESPONSE)
def consumer_group_heartbeat(
    request: ConsumerGroupHeartbeatRequest, ctx: RequestContext
) -> ConsumerGroupHeartbeatResponse:
    raise UnsupportedVersion
