"""DescribeUserScramCredentials (key 50, v0): mechanisms and iterations of users, never what could authenticate.

Source      KafkaApis.handleDescribeUserScramCredentialsRequest.
"""

from __future__ import annotations

from typing import Final

from kafka_zk.admin.scram_credentials import describe_everybody, describe_users
from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.api.error_form import Each, Form, Text
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.walk import IN_WORDS
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.messages.describe_user_scram_credentials import (
    DESCRIBE_USER_SCRAM_CREDENTIALS_REQUEST,
    DESCRIBE_USER_SCRAM_CREDENTIALS_RESPONSE,
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from kafka_zk.sasl.scram_credentials import Mechanism

ERRORS = Form((Each("users", "results", same_names=False),), Text.OWN, uncounted="error_code")


@api(DESCRIBE_USER_SCRAM_CREDENTIALS_REQUEST, DESCRIBE_USER_SCRAM_CREDENTIALS_RESPONSE, errors=ERRORS)
def describe(request: DescribeUserScramCredentialsRequest, ctx: RequestContext) -> DescribeUserScramCredentialsResponse:
    """Blocks. Return mechanisms and iterations of the named users, or of all."""
    authorize(ctx, Operation.DESCRIBE, ResourceType.CLUSTER)
    zk = ctx.services.zk
    if not request.users:
        everybody = describe_everybody(zk).items()
        return DescribeUserScramCredentialsResponse(results=[_result(user, found) for user, found in everybody])
    described = describe_users(zk, (user.name for user in request.users))
    # Of many failures only the first have a message: the answer would be large.
    return DescribeUserScramCredentialsResponse(
        results=[
            _refused(user, found, str(found) if count < IN_WORDS else "")
            if isinstance(found, BrokerError)
            else _result(user, found)
            for count, (user, found) in enumerate(described)
        ]
    )


def _result(user: str, found: dict[Mechanism, int]) -> DescribeUserScramCredentialsResult:
    infos = [CredentialInfo(mechanism=mechanism.code, iterations=count) for mechanism, count in found.items()]
    return DescribeUserScramCredentialsResult(user=user, credential_infos=infos)


def _refused(user: str, error: BrokerError, words: str) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(
        user=user, error_code=error.code, error_message=words, credential_infos=_NO_CREDENTIALS
    )


# Shared by all refusals: encoders only read it, and there may be many.
_NO_CREDENTIALS: Final[list[CredentialInfo]] = []
