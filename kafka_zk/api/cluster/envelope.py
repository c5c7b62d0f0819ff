"""Envelope (key 58, v0): listed, but brokers in ZooKeeper mode forward nothing: the connection is closed.

Source      KafkaApis.handleEnvelope (its branch without forwarding).
"""

from __future__ import annotations

from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.network.errors import CloseConnection
from kafka_zk.protocol.messages.envelope import (
    ENVELOPE_REQUEST,
    ENVELOPE_RESPONSE,
    EnvelopeRequest,
    EnvelopeResponse,
)


@api(ENVELOPE_REQUEST, ENVELOPE_RESPONSE)
def envelope(request: EnvelopeRequest, ctx: RequestContext) -> EnvelopeResponse:
    raise CloseConnection("it sent an `Envelope` request even though forwarding has not been enabled")
