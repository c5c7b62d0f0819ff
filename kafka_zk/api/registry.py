"""The registry of APIs and their handlers, which dispatch, ApiVersions and the docs read.

Role        A handler module decorates its function with `@api(REQUEST, RESPONSE, ...)`, which declares what is
            special about the API: its error form, its quotas, whether it yields to others.
Invariants  One handler per key. The versions served are those of the declarations.
Source      The match in KafkaApis.handle, ApiVersionsResponse.collectApis in Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_zk.api.charge import Charge
from kafka_zk.api.error_form import NO_FORM, Form
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.message import Message

if TYPE_CHECKING:
    from kafka_zk.api.request_context import RequestContext

Q = TypeVar("Q")
R = TypeVar("R")

Handler = Callable[[Q, "RequestContext"], "R | Pending[Any] | None"]
"""Returns the response, a Pending of it, or None if the request gets no answer (a produce with acks=0)."""


@dataclass(frozen=True, slots=True)
class HandledApi:
    """One API that this broker serves.

    `gives_way`: serving it yields to other greenlets, however small, as its answer may be large.
    `lets_next_start`: while an answer of this API is still to come, later requests of the same connection may be
    handled (their answers wait behind it). Kafka never does that; it is safe only where nothing a client can observe
    depends on the answer, that is for a produce whose records are in the log already.
    `sends_slices`: its answers may hold slices of segments.
    `variant_of(request)`: a second name under which its metrics count, "" for none; the only one if
    `counts_as_variant_only`.
    """

    request: Message[Any]
    response: Message[Any]
    handler: Handler[Any, Any]
    errors: Form = NO_FORM
    charge: Charge = Charge.TIME
    gives_way: bool = True
    lets_next_start: bool = False
    sends_slices: bool = False
    variant_of: Callable[[Any], str] | None = None
    counts_as_variant_only: bool = False

    @property
    def key(self) -> int:
        assert self.request.api_key is not None
        return self.request.api_key

    @property
    def name(self) -> str:
        return self.request.name.removesuffix("Request")


class ApiRegistry:
    """The handlers, by API key."""

    def __init__(self) -> None:
        self._apis: dict[int, HandledApi] = {}

    def add(self, served: HandledApi) -> None:
        """Serve one more API. A second handler for a key, or messages that do not match, are our bug."""
        key, request, response = served.request.api_key, served.request, served.response
        assert key is not None and response.api_key == key, f"{request} and {response} are not one API"
        assert key not in self._apis, f"{request.name} has a handler already: {self._apis[key].handler}"
        self._apis[key] = served

    def get(self, key: int) -> HandledApi | None:
        return self._apis.get(key)

    def __iter__(self) -> Iterator[HandledApi]:
        """All APIs by ascending key."""
        return iter(sorted(self._apis.values(), key=lambda served: served.key))

    def __len__(self) -> int:
        return len(self._apis)


REGISTRY = ApiRegistry()
"""Filled while the handler modules are imported, and never changed afterwards."""


def api(
    request: Message[Q],
    response: Message[R],
    *,
    errors: Form = NO_FORM,
    charge: Charge = Charge.TIME,
    gives_way: bool = True,
    lets_next_start: bool = False,
    sends_slices: bool = False,
    variant_of: Callable[[Q], str] | None = None,
    counts_as_variant_only: bool = False,
    registry: ApiRegistry = REGISTRY,
) -> Callable[[Handler[Q, R]], Handler[Q, R]]:
    """Register the decorated function as the handler of an API; see HandledApi."""

    def register(handler: Handler[Q, R]) -> Handler[Q, R]:
        served = HandledApi(
            request,
            response,
            handler,
            errors,
            charge,
            gives_way,
            lets_next_start,
            sends_slices,
            variant_of,
            counts_as_variant_only,
        )
        registry.add(served)
        return handler

    return register
