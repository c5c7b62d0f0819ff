"""ConsumerGroupDescribe (key 69, v0): listed, but refused for every group: all are classic groups.

Source      KafkaApis.handleConsumerGroupDescribe (its branch without the new coordinator).
"""

from __future__ import annotations

from kafka_zk.api.error_form import Each, Form
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.protocol.errors import UnsupportedVersion
from kafka_zk.protocol.messages.consumer_group_describe import (
    CONSUMER_GROUP_DESCRIBE_REQUEST,
    CONSUMER_GROUP_DESCRIBE_RESPONSE,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)


@api(
    CONSUMER_GROUP_DESCRIBE_REQUEST,
    CONSUMER_GROUP_DESCRIBE_RESPONSE,
    errors=Form((Each("group_ids", "groups", key="group_id"),)),
)
def consumer_group_describe(
    request: ConsumerGroupDescribeRequest, ctx: RequestContext
) -> ConsumerGroupDescribeResponse:
    raise UnsupportedVersion
