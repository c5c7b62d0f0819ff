"""From request frame to response: header, version, body, handler, response, and the errors of each step.

Role        The handler of every connection (network.RequestHandler). Runs in the connection's greenlet.
Invariants  A request that cannot be understood (unknown key or version, undecodable header or body) ends its connection
            without an answer, as does a failed produce with acks=0. Every other request gets exactly one answer.
            The frame is not used after its handler has returned.
            No request blocks the loop for long: large ones (and all of APIs with possibly large answers, however small
            their requests) yield while read, handled and written. A small produce or fetch pays nothing for it.
            Only here and in `walk` do exceptions become codes; other errors are our bugs, logged with their traceback.
Source      KafkaApis.handle, Processor.processCompletedReceives, RequestContext.parseRequest in Kafka 3.9.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import logging
import time
from struct import Struct
from typing import Any, Final

from kafka_zk.api.charge import Charge
from kafka_zk.api.error_counts import error_tally
from kafka_zk.api.error_form import error_response
from kafka_zk.api.late_answers import when_settled
from kafka_zk.api.registry import ApiRegistry, HandledApi
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.request_log import Described, RequestLog
from kafka_zk.api.services import Services
from kafka_zk.giving_way import InTurns, give_way, take_apart
from kafka_zk.network.answer_queue import Deferred
from kafka_zk.network.connection import Connection
from kafka_zk.network.errors import CloseConnection
from kafka_zk.network.parts import IN_MEMORY, Parts, part_size, release
from kafka_zk.network.pending import Pending
from kafka_zk.network.request_metrics import ApiTimes, RequestMetrics, Row
from kafka_zk.protocol.errors import BrokerError, DecodeError, ErrorCode, InvalidRequest
from kafka_zk.protocol.header import RequestHeader, decode_request_header, response_header_is_flexible
from kafka_zk.protocol.messages.api_versions import API_VERSIONS_RESPONSE, ApiVersion, ApiVersionsResponse
from kafka_zk.protocol.value import list_fields
from kafka_zk.protocol.wire import TooLargeToWrite

API_VERSIONS_KEY: Final = 18

LARGE_FRAME_BYTES: Final = 16 * 1024
"""From this size on serving a request yields to other greenlets: a millisecond's work, at worst."""

MAX_ANSWER_BYTES: Final = 32 * 1024 * 1024
"""Bytes of one answer, without slices of segments."""

log = logging.getLogger("kafka.server.KafkaApis")

_now: Final = time.monotonic_ns
_size_and_id: Final = Struct(">ii").pack
_size_id_and_tags: Final = Struct(">iib").pack


Timing = tuple[int, int, int, int, int]
"""The first five columns of a row in the request metrics: version, size, received, started, handled."""


class Route:
    """Precomputed data for requests of one key and version."""

    __slots__ = (
        "api",
        "api_version",
        "charge",
        "count_errors",
        "count_errors_in_turns",
        "decode",
        "decode_in_turns",
        "encode",
        "encode_in_turns",
        "flexible_header",
        "gives_way",
        "handler",
        "sends_slices",
        "tells_throttle",
        "times",
        "variant_of",
    )

    def __init__(self, api: HandledApi, api_version: int, times: ApiTimes | None) -> None:
        self.api = api
        self.api_version = api_version
        self.handler = api.handler
        self.decode = api.request.decoder(api_version)
        self.encode = api.response.encoder(api_version)
        self.decode_in_turns = api.request.turns_decoder(api_version)
        self.encode_in_turns = api.response.turns_encoder(api_version)
        tally = error_tally(api.errors, api.response, api_version)
        self.count_errors = tally.count
        self.count_errors_in_turns = tally.count_in_turns
        self.gives_way = api.gives_way
        self.charge = api.charge
        self.flexible_header = response_header_is_flexible(api.key, api_version)
        self.sends_slices = api.sends_slices
        self.tells_throttle = any(field.name == "throttle_time_ms" for field in api.response.struct.fields)
        self.times = times
        self.variant_of = api.variant_of


class Exchange:
    """A request whose response is pending."""

    __slots__ = ("ctx", "request", "route", "timing")

    def __init__(self, route: Route, request: Any, ctx: RequestContext, timing: Timing) -> None:
        self.route = route
        self.request = request
        self.ctx = ctx
        self.timing = timing


class Dispatcher:
    """Serves the APIs of a registry. Without `metrics` nothing is measured."""

    def __init__(self, services: Services, registry: ApiRegistry, metrics: RequestMetrics | None = None) -> None:
        self._services = services
        self._registry = registry
        self._metrics = metrics
        self._routes: dict[tuple[int, int], Route] = {}
        self.request_log: RequestLog | None = None
        """None while it is off."""

    def handle(self, frame: memoryview, connection: Connection) -> Parts | Deferred:
        """May block, as the handler does. Raises CloseConnection."""
        started_ns = _now()
        if connection.must_authenticate:
            parts = self._serve_login(frame, connection)
            if parts is not None:
                return parts
        try:
            header = decode_request_header(frame)
        except DecodeError as error:
            raise CloseConnection(str(error)) from error
        route = self._routes.get((header.api_key, header.api_version)) or self._find_route(header)
        if route is None:
            return unsupported_api_versions(header)
        size_bytes = len(frame)
        if route.gives_way or size_bytes >= LARGE_FRAME_BYTES:
            with InTurns(large=size_bytes >= LARGE_FRAME_BYTES):
                return self._handle_in_turns(route, header, frame, connection, started_ns)
        try:
            request = route.decode(frame, header.body_position)[0]
        except DecodeError as error:
            raise _undecodable(route, connection, error) from error
        ctx = RequestContext(
            header.api_key, header.api_version, header.correlation_id, header.client_id, connection, self._services
        )
        if self.request_log is not None:
            ctx.described = self.request_log.describe(header, route.api.request, request, connection, give_way)
        try:
            result = route.handler(request, ctx)
        except CloseConnection:
            raise
        except Exception as error:
            # A handler's errors for the client and bugs of ours alike: every request gets its answer.
            result = _failure(route, request, ctx, error, False)
        handled_ns = _now()
        timing = (header.api_version, size_bytes, connection.received_ns, started_ns, handled_ns)
        if isinstance(result, Pending):
            return self._defer(Exchange(route, request, ctx, timing), result)
        return self._answer(route, request, ctx, result, timing, handled_ns, False)

    def _handle_in_turns(
        self, route: Route, header: RequestHeader, frame: memoryview, connection: Connection, started_ns: int
    ) -> Parts | Deferred:
        """Blocks. As `handle`, yielding to other greenlets."""
        is_large = len(frame) >= LARGE_FRAME_BYTES
        try:
            if is_large:
                request = route.decode_in_turns(frame, header.body_position, give_way)[0]
            else:
                request = route.decode(frame, header.body_position)[0]
        except DecodeError as error:
            raise _undecodable(route, connection, error) from error
        ctx = RequestContext(
            header.api_key,
            header.api_version,
            header.correlation_id,
            header.client_id,
            connection,
            self._services,
        )
        ctx.gives_way = True
        if self.request_log is not None:
            ctx.described = self.request_log.describe(header, route.api.request, request, connection, give_way)
        try:
            result = route.handler(request, ctx)
        except CloseConnection:
            raise
        except Exception as error:
            result = _failure(route, request, ctx, error, True)
        handled_ns = _now()
        timing = (header.api_version, len(frame), connection.received_ns, started_ns, handled_ns)
        if isinstance(result, Pending):
            return self._defer(Exchange(route, request, ctx, timing), result)
        parts = self._answer(route, request, ctx, result, timing, handled_ns, True)
        if is_large or len(parts) > 2:
            _take_apart(result, request, parts)
        return parts

    def _answer(
        self,
        route: Route,
        request: Any,
        ctx: RequestContext,
        response: Any,
        timing: Timing,
        completed_ns: int,
        in_turns: bool,
    ) -> Parts:
        """The parts of an answer, and its row in the metrics. No parts if there is no answer.

        Blocks if `in_turns`. Releases the slices of `response` before it raises.
        """
        try:
            connection = ctx.connection
            throttle_ms = 0
            quotas = self._services.quotas
            if quotas is not None:
                throttle_ms = quotas.throttle_ms(route.charge, ctx, request, response, timing[1], timing[4] - timing[3])
                if throttle_ms > 0:
                    connection.mute(throttle_ms)
                    if response is not None and route.tells_throttle:
                        response.throttle_time_ms = throttle_ms
            parts: Parts = []
            stamp = connection.sent_stamp
            if response is None:
                stamp = [completed_ns, completed_ns]
            else:
                try:
                    if in_turns:
                        parts = _encode_in_turns(route, ctx.correlation_id, response)
                    else:
                        parts = _encode(route, ctx.correlation_id, response)
                except Exception as error:
                    # An encoding failure is a bug of ours, or the answer is too large; the client must not wait for it.
                    if route.sends_slices:
                        _release_slices(response, in_turns)
                    reason = _too_large() if isinstance(error, TooLargeToWrite) else error
                    response = _failure(route, request, ctx, reason, in_turns)
                    parts = _encode_failure(route, ctx.correlation_id, response, in_turns)
            times = route.times
            if times is not None:
                if response is not None:
                    if in_turns:
                        route.count_errors_in_turns(response, times.error_counts, give_way)
                    else:
                        route.count_errors(response, times.error_counts)
                api_version, size_bytes, received_ns, started_ns, handled_ns = timing
                row = (api_version, size_bytes, received_ns, started_ns, handled_ns, completed_ns, throttle_ms, stamp)
                variant = "" if route.variant_of is None else route.variant_of(request)
                if not variant or not route.api.counts_as_variant_only:
                    times.rows.append(row)
                if ctx.described is not None:
                    self._log_answer(route, ctx.described, response, row, in_turns)
                if variant and self._metrics is not None:
                    self._metrics.of(variant).rows.append(row)
            return parts
        except BaseException:
            if route.sends_slices and response is not None:
                _release_slices(response, False)
            raise

    def _log_answer(self, route: Route, described: Described, response: Any, row: Row, in_turns: bool) -> None:
        """Blocks if `in_turns`."""
        if self.request_log is not None:
            pause = give_way if in_turns else None
            self.request_log.answered(described, route.api.response, response, row, pause)

    def _defer(self, exchange: Exchange, pending: Pending[Any]) -> Deferred:
        """Blocks if a large answer is ready already."""
        deferred = Deferred(lets_next_start=exchange.route.api.lets_next_start)
        if exchange.route.charge is Charge.PRODUCED:
            _forget_records(exchange.request)

        is_large = exchange.timing[1] >= LARGE_FRAME_BYTES

        def answer(settled: Pending[Any]) -> None:
            try:
                if is_large:
                    with InTurns(large=True):
                        parts = self._late_answer(exchange, settled, True)
                else:
                    parts = self._late_answer(exchange, settled, False)
            except Exception as reason:
                # A bug of ours ends this connection, too: it must not reach the request of another one that settles
                # this one, and no client may wait for ever.
                deferred.fail(reason)
            else:
                deferred.complete(parts)

        if is_large:
            when_settled(pending, answer)
        else:
            pending.on_complete(answer)
        deferred.when_left(pending.leave)
        return deferred

    def _late_answer(self, exchange: Exchange, settled: Pending[Any], in_turns: bool) -> Parts:
        """Blocks if `in_turns`."""
        route, request, ctx = exchange.route, exchange.request, exchange.ctx
        if settled.error is None:
            response = settled.value
        elif isinstance(settled.error, CloseConnection):
            raise settled.error
        else:
            response = _failure(route, request, ctx, settled.error, in_turns)
        parts = self._answer(route, request, ctx, response, exchange.timing, _now(), in_turns)
        if in_turns:
            _take_apart(response, request, parts)
        return parts

    def _find_route(self, header: RequestHeader) -> Route | None:
        """None for a version of ApiVersions that we do not know. Raises CloseConnection for anything else unknown."""
        api = self._registry.get(header.api_key)
        if api is None:
            raise CloseConnection(f"Received request api key {header.api_key} which is not enabled")
        if not api.request.min_version <= header.api_version <= api.request.max_version:
            if header.api_key == API_VERSIONS_KEY:
                return None
            raise CloseConnection(
                f"Received request for api with key {header.api_key} ({api.name}) and unsupported version "
                f"{header.api_version}"
            )
        times = self._metrics.of(api.name) if self._metrics is not None else None
        route = Route(api, header.api_version, times)
        self._routes[header.api_key, header.api_version] = route
        return route

    def _serve_login(self, frame: memoryview, connection: Connection) -> Parts | None:
        """None for a request of a client that has logged in. May block."""
        authentication = self._services.authentication
        if authentication is None:
            raise CloseConnection("this broker does not support authentication")
        return authentication.serve(frame, connection)


def _undecodable(route: Route, connection: Connection, error: DecodeError) -> CloseConnection:
    return CloseConnection(
        f"Error getting request for apiKey: {route.api.name}, apiVersion: {route.api_version}, "
        f"connectionId: {connection.connection_id}: {error}"
    )


def _too_large() -> InvalidRequest:
    return InvalidRequest(f"The response would be larger than {MAX_ANSWER_BYTES} bytes; ask for less at a time.")


def _failure(route: Route, request: Any, ctx: RequestContext, error: Exception, in_turns: bool) -> Any:
    """The error form of this API. Raises CloseConnection if the failed request has no answer.

    Blocks if `in_turns`.
    """
    if not isinstance(error, BrokerError):
        log.error("Unexpected error handling request %s %r", route.api.name, ctx, exc_info=error)
    api = route.api
    response = error_response(
        api.errors, api.request, api.response, request, route.api_version, error, give_way if in_turns else None
    )
    if response is None:
        raise CloseConnection(
            f"Closing connection due to error during produce request with correlation id {ctx.correlation_id} "
            f"from client id {ctx.client_id} with ack=0: {error}"
        ) from error
    return response


def _encode(route: Route, correlation_id: int, response: Any) -> Parts:
    if not route.sends_slices:
        body = route.encode(response)
        if route.flexible_header:
            return [_size_id_and_tags(len(body) + 5, correlation_id, 0), body]
        return [_size_and_id(len(body) + 4, correlation_id), body]
    parts: Parts = route.api.response.encode_parts(response, route.api_version)
    size_bytes = sum(part_size(part) for part in parts)
    if route.flexible_header:
        return [_size_id_and_tags(size_bytes + 5, correlation_id, 0), *parts]
    return [_size_and_id(size_bytes + 4, correlation_id), *parts]


def _release_slices(response: Any, in_turns: bool) -> None:
    """Release the segment slices of an unsent answer, once. Blocks if `in_turns`."""
    for topic in response.responses:
        for partition in topic.partitions:
            if in_turns:
                give_way()
            records, partition.records = partition.records, None
            if records and not isinstance(records, IN_MEMORY):
                for piece in records:
                    piece.release()


def _take_apart(response: Any, request: Any, parts: Parts) -> None:
    """Blocks. Free both while yielding; if that ends early, the answer is not sent."""
    try:
        take_apart(response, list_fields)
        take_apart(request, list_fields)
    except BaseException:
        release(parts)
        raise


def _encode_failure(route: Route, correlation_id: int, response: Any, in_turns: bool) -> Parts:
    """Blocks if `in_turns`. Raises CloseConnection if even the failure is too large."""
    if not in_turns:
        return _encode(route, correlation_id, response)
    try:
        return _encode_in_turns(route, correlation_id, response)
    except TooLargeToWrite as error:
        raise CloseConnection(str(_too_large())) from error


def _encode_in_turns(route: Route, correlation_id: int, response: Any) -> Parts:
    """Blocks. Raises TooLargeToWrite."""
    parts: Parts = route.encode_in_turns(response, give_way, MAX_ANSWER_BYTES)
    size_bytes = sum([part_size(part) for part in parts])
    if route.flexible_header:
        return [_size_id_and_tags(size_bytes + 5, correlation_id, 0), *parts]
    return [_size_and_id(size_bytes + 4, correlation_id), *parts]


def unsupported_api_versions(header: RequestHeader) -> Parts:
    """What a client needs to retry: the code and the versions of ApiVersions, in the oldest form (KIP-511)."""
    known = API_VERSIONS_RESPONSE
    response = ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        api_keys=[ApiVersion(api_key=API_VERSIONS_KEY, min_version=known.min_version, max_version=known.max_version)],
    )
    body = known.encode(response, 0)
    return [_size_and_id(len(body) + 4, header.correlation_id), body]


def _forget_records(request: Any) -> None:
    """The batches are in the log; an unanswered produce must not keep its frame in memory."""
    for topic in request.topic_data:
        for partition in topic.partition_data:
            partition.records = None
