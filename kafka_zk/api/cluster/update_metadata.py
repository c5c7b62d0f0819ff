"""UpdateMetadata (key 6, v0-8): updates this broker's metadata cache from the controller.

Source      Kafka 3.9 KafkaApis.handleUpdateMetadataRequest.
"""

from __future__ import annotations

from kafka_zk.api.charge import Charge
from kafka_zk.api.cluster.control_request import check_control_request
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.update_metadata import (
    UPDATE_METADATA_REQUEST,
    UPDATE_METADATA_RESPONSE,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)


@api(UPDATE_METADATA_REQUEST, UPDATE_METADATA_RESPONSE, charge=Charge.EXEMPT)
def update_metadata(request: UpdateMetadataRequest, ctx: RequestContext) -> UpdateMetadataResponse:
    """Blocks while another controller request is applied. Waiters on the cache are notified before the response."""
    check_control_request(ctx, request.broker_epoch)
    ctx.services.replica_manager.maybe_update_metadata_cache(request)
    return UpdateMetadataResponse(error_code=ErrorCode.NONE)
