"""DescribeUserScramCredentials (key 50, v0): mechanisms and iterations of users, never what could authenticate.

Source      KafkaApis.handleDescribeUserScramCredentialsRequest.
"""

from __future__ import annotations

from kafka_zk.admin.scram_credentials import describe_everybody, describe_users
from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.api.context import RequestContext
from kafka_zk.api.registry import api
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.messages.describe_user_scram_credentials import (
    DESCRIBE_USER_SCRAM_CREDENTIALS_REQUEST,
    DESCRIBE_USER_SCRAM_CREDENTIALS_RESPONSE,
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from kafka_zk.security.scram import Mechanism


@api(DESCRIBE_USER_SCRAM_CREDENTIALS_REQUEST, DESCRIBE_USER_SCRAM_CREDENTIALS_RESPONSE)
def describe(request: DescribeUserScramCredentialsRequest, ctx: RequestContext) -> DescribeUserScramCredentialsResponse:
    """Blocks."""
    authorize(ctx, Operation.DESCRIBE, ResourceType.CLUSTER)
    zk = ctx.services.zk
    users = [user.name for user in request.users or ()]
    described = describe_users(zk, users) if users else describe_everybody(zk)
    return DescribeUserScramCredentialsResponse(results=[_result(user, found) for user, found in described.items()])


def _result(user: str, found: dict[Mechanism, int] | BrokerError) -> DescribeUserScramCredentialsResult:
    if isinstance(found, BrokerError):
        return DescribeUserScramCredentialsResult(user=user, error_code=found.code, error_message=str(found))
    infos = [CredentialInfo(mechanism=mechanism.code, iterations=count) for mechanism, count in found.items()]
    return DescribeUserScramCredentialsResult(user=user, credential_infos=infos)
