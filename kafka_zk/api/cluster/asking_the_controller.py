"""What the handlers share whose answer comes out of the controller's queue.

Source      the callbacks of KafkaController.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kafka_zk.api.context import RequestContext
from kafka_zk.controller.events import Event
from kafka_zk.network.pending import Pending

Response = TypeVar("Response")


def ask(ctx: RequestContext, event: Event, answer: Callable[[Any], Response]) -> Pending[Response]:
    """Blocks while the controller's queue is full. The response that `answer` makes of the outcome.

    A failure of the event becomes the failure of the request: dispatch gives it the API's error form.
    """
    return ctx.services.controller.submit(event).then(answer)
