"""AlterUserScramCredentials (key 51, v0): store and delete the credentials of users. The controller does it.

Source      KafkaApis.handleAlterUserScramCredentialsRequest.
"""

from __future__ import annotations

from kafka_zk.admin.scram_credentials import Deletion, Upsertion, alter_credentials
from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.api.error_form import Each, Form, Text
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.giving_way import in_turns, let_go
from kafka_zk.protocol.errors import BrokerError, NotController
from kafka_zk.protocol.messages.alter_user_scram_credentials import (
    ALTER_USER_SCRAM_CREDENTIALS_REQUEST,
    ALTER_USER_SCRAM_CREDENTIALS_RESPONSE,
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)

ERRORS = Form(
    (
        Each("deletions", "results", copied={"user": "name"}),
        Each("upsertions", "results", copied={"user": "name"}),
    ),
    Text.OWN,
)


@api(ALTER_USER_SCRAM_CREDENTIALS_REQUEST, ALTER_USER_SCRAM_CREDENTIALS_RESPONSE, errors=ERRORS)
def alter(request: AlterUserScramCredentialsRequest, ctx: RequestContext) -> AlterUserScramCredentialsResponse:
    """Blocks. Delete and upsert credentials, on the active controller only."""
    if not ctx.services.controller.is_active:
        raise NotController
    authorize(ctx, Operation.ALTER, ResourceType.CLUSTER)
    deletions = [Deletion(each.name, each.mechanism) for each in in_turns(request.deletions)]
    upsertions = [
        Upsertion(each.name, each.mechanism, each.iterations, bytes(each.salt), bytes(each.salted_password))
        for each in in_turns(request.upsertions)
    ]
    outcomes = alter_credentials(ctx.services.zk, deletions, upsertions)
    results = [_result(user, error) for user, error in in_turns(outcomes.items())]
    let_go(outcomes, deletions, upsertions)
    return AlterUserScramCredentialsResponse(results=results)


def _result(user: str, error: BrokerError | None) -> AlterUserScramCredentialsResult:
    if error is None:
        return AlterUserScramCredentialsResult(user=user)
    return AlterUserScramCredentialsResult(user=user, error_code=error.code, error_message=str(error))
