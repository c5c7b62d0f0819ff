"""ListGroups (key 16, v0-5): the groups that this broker coordinates.

v4 states · v5 types
Source      KafkaApis.handleListGroupsRequest.
"""

from __future__ import annotations

from kafka_zk.api.authorization import CLUSTER_NAME, Audit, Operation, ResourceType
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.coordinator.group.decisions.describing import CLASSIC
from kafka_zk.coordinator.group.decisions.states import GroupState
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.messages.list_groups import (
    LIST_GROUPS_REQUEST,
    LIST_GROUPS_RESPONSE,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

STATES = frozenset(state.value.lower() for state in GroupState)
TYPES = frozenset((CLASSIC,))
NOBODY_S = ""


@api(LIST_GROUPS_REQUEST, LIST_GROUPS_RESPONSE)
def list_groups(request: ListGroupsRequest, ctx: RequestContext) -> ListGroupsResponse:
    """Yields to other greenlets. List the groups that match the filters and that the client may see."""
    states, types = _known(request.states_filter, STATES), _known(request.types_filter, TYPES)
    error, groups = ctx.services.group_coordinator.list_groups(states, types)
    if not ctx.may(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME, Audit.FILTER):
        groups = [
            group
            for group in in_turns(groups)
            if ctx.may(Operation.DESCRIBE, ResourceType.GROUP, group.group_id, Audit.FILTER)
        ]
    return ListGroupsResponse(
        error_code=error,
        groups=[
            ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state,
                group_type=CLASSIC,
            )
            for group in in_turns(groups)
        ],
    )


def _known(names: list[str], known: frozenset[str]) -> set[str]:
    """Yields to other greenlets. The filter in lower case; one name stands for all unknown ones."""
    wanted: set[str] = set()
    for name in in_turns(names):
        name = name.lower()
        wanted.add(name if name in known else NOBODY_S)
    return wanted
