"""Shared by the handlers whose response comes from the controller's event queue.

Source      the callbacks of KafkaController.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kafka_zk.api.late_answers import then_apart
from kafka_zk.api.request_context import RequestContext
from kafka_zk.controller.events import Event
from kafka_zk.giving_way import in_turns
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.types import TopicPartition

Response = TypeVar("Response")


MANY = 1_000
"""The controller checks this many partitions in a millisecond or two."""


def ask(ctx: RequestContext, event: Event, answer: Callable[[Any], Response]) -> Pending[Response]:
    """Blocks while the controller's queue is full. `answer` builds the response from the result; it may yield.

    A failure of the event becomes the failure of the request: dispatch gives it the API's error form.
    """
    return then_apart(ctx.services.controller.submit(event), answer)


def known_and_unknown(
    ctx: RequestContext, asked: list[TopicPartition]
) -> tuple[list[TopicPartition], list[TopicPartition]]:
    """Yields to other greenlets. Which of many partitions exist: the controller, which does not yield, is asked about
    those only. If they are few, or this broker is not the controller, all count as known."""
    active_controller = ctx.services.controller.active_controller
    if active_controller is None or len(asked) <= MANY:
        return asked, []
    known: list[TopicPartition] = []
    unknown: list[TopicPartition] = []
    for partition in in_turns(asked):
        (known if active_controller.context.assignment(partition).replicas else unknown).append(partition)
    return known, unknown
