"""What the handlers share whose answer comes out of the controller's queue.

Source      KafkaApis (authorizeClusterOperation); the callbacks of KafkaController.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kafka_zk.api.authorization import CLUSTER_NAME, Operation, ResourceType
from kafka_zk.api.context import RequestContext
from kafka_zk.controller.events import Event
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ClusterAuthorizationFailed

Response = TypeVar("Response")


def require(ctx: RequestContext, operation: Operation) -> None:
    """Raises ClusterAuthorizationFailed unless the client may do `operation` on the cluster."""
    if not ctx.may(operation, ResourceType.CLUSTER, CLUSTER_NAME):
        raise ClusterAuthorizationFailed


def ask(ctx: RequestContext, event: Event, answer: Callable[[Any], Response]) -> Pending[Response]:
    """Blocks while the controller's queue is full. The response that `answer` makes of the outcome.

    A failure of the event becomes the failure of the request: dispatch gives it the API's error form.
    """
    return ctx.services.controller.submit(event).then(answer)
