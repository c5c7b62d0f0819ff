"""ApiVersions (key 18, v0-4): what this broker serves.

The list is the registry's, so a key appears once it has a handler. Dispatch answers unknown versions
itself.   Source: KafkaApis.handleApiVersionsRequest, ApiVersionsRequest.isValid, KIP-511
"""

from __future__ import annotations

import re

from kafka_zk.api.registry import REGISTRY, ApiRegistry, api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.api_versions import (
    API_VERSIONS_REQUEST,
    API_VERSIONS_RESPONSE,
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)

FIRST_VERSION_WITH_SOFTWARE = 3

UNKNOWN_SOFTWARE = ("unknown", "unknown")

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


@api(API_VERSIONS_REQUEST, API_VERSIONS_RESPONSE)
def api_versions(request: ApiVersionsRequest, ctx: RequestContext) -> ApiVersionsResponse:
    software = software_of(request, ctx.api_version)
    if software is None:
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    if ctx.api_version >= FIRST_VERSION_WITH_SOFTWARE:
        ctx.connection.client_software_name, ctx.connection.client_software_version = software
    return versions_answer(ctx.services.finalized_features_epoch)


def software_of(request: ApiVersionsRequest, api_version: int) -> tuple[str, str] | None:
    """The name and version of the client's software, "unknown" if it tells none; None if they are no such names."""
    if api_version < FIRST_VERSION_WITH_SOFTWARE:
        return UNKNOWN_SOFTWARE
    software = (request.client_software_name, request.client_software_version)
    return software if all(_SOFTWARE.fullmatch(word) for word in software) else None


def versions_answer(finalized_features_epoch: int) -> ApiVersionsResponse:
    """What this broker serves."""
    return ApiVersionsResponse(api_keys=served_versions(REGISTRY), finalized_features_epoch=finalized_features_epoch)


def served_versions(registry: ApiRegistry) -> list[ApiVersion]:
    """One entry for each API that has a handler, by ascending key."""
    return [
        ApiVersion(api_key=served.key, min_version=served.request.min_version, max_version=served.request.max_version)
        for served in registry
    ]
