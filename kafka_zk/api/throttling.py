"""Counts each request against its client's quotas, and computes the throttle time (KIP-219).

Role        Between dispatch and the quotas; what an API is charged for is declared with its handler (`Charge`). Exists
            only while any quota is set: without one, a request only checks `services.quotas`.
Invariants  A response is sent at once with its throttle time; then its connection is muted for that long.
            Produce with acks=0 is throttled for its bytes, never for its request time. Inter-broker requests are not
            throttled.
Differs from Kafka: the time to send an answer is not counted.
Source      RequestHandlerHelper, KafkaApis.handleProduceRequest, handleFetchRequest.
"""

from __future__ import annotations

from typing import Any

from kafka_zk.api.charge import Charge
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.services import Asker
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.security.quotas.manager import PERCENT_PER_NS, QuotaManagers
from kafka_zk.security.quotas.mutations import MutationQuota, Unbounded
from kafka_zk.security.quotas.overrides import QuotaKind

MAX_FETCH_BYTES = 2**31 - 1

_UNBOUNDED = Unbounded()


class Throttling:
    """The quotas of this broker, as used by dispatch and handlers."""

    def __init__(self, managers: QuotaManagers) -> None:
        self._managers = managers

    def throttle_ms(
        self, charge: Charge, asker: Asker, request: Any, response: Any, size_bytes: int, local_ns: int
    ) -> int:
        """Count an answered request of `size_bytes` whose handler took `local_ns`; 0 for no wait.

        `response` is None if there is no answer. It carries what its handler has already charged.
        """
        if charge is Charge.FETCHED:
            return int(response.throttle_time_ms)
        percent = local_ns * PERCENT_PER_NS
        if charge is Charge.EXEMPT and response.error_code != ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            self._managers.record_exempt(percent)
            return 0
        own_kind, own_ms = None, 0
        if charge is Charge.PRODUCED:
            own_kind, own_ms = QuotaKind.PRODUCE, self._record(asker, QuotaKind.PRODUCE, size_bytes)
            if request.acks == 0:
                return self._longest(asker, own_kind, own_ms, 0)
        elif charge is Charge.MUTATIONS:
            own_kind, own_ms = QuotaKind.CONTROLLER_MUTATION, response.throttle_time_ms
        return self._longest(asker, own_kind, own_ms, self._record(asker, QuotaKind.REQUEST, percent))

    def fetch_throttle_ms(self, asker: Asker, size_bytes: int, local_ns: int) -> int:
        """Count a fetch before its response. If it is throttled, the response must hold no records."""
        time_ms = self._record(asker, QuotaKind.REQUEST, local_ns * PERCENT_PER_NS)
        bytes_ms = self._record(asker, QuotaKind.FETCH, size_bytes)
        throttle_ms = self._longest(asker, QuotaKind.FETCH, bytes_ms, time_ms)
        if throttle_ms:
            self._managers.take_back(QuotaKind.FETCH, _user(asker), asker.client_id, size_bytes)
        return throttle_ms

    def fetch_exempt(self, local_ns: int) -> None:
        """Count a follower's fetch."""
        self._managers.record_exempt(local_ns * PERCENT_PER_NS)

    def most_fetch_bytes(self, asker: Asker) -> int:
        """The byte limit of a fetch: more would throttle even a client that has been idle."""
        return int(min(MAX_FETCH_BYTES, self._managers.most_in_window(QuotaKind.FETCH, _user(asker), asker.client_id)))

    def mutations(self, asker: Asker, *, strict: bool) -> MutationQuota:
        return self._managers.mutations(_user(asker), asker.client_id, strict=strict)

    def _record(self, asker: Asker, kind: QuotaKind, value: float) -> int:
        return self._managers.record(kind, _user(asker), asker.client_id, value)

    def _longest(self, asker: Asker, own_kind: QuotaKind | None, own_ms: int, time_ms: int) -> int:
        """The longer of two throttle times, recorded for its kind of quota."""
        throttle_ms = max(own_ms, time_ms)
        if throttle_ms > 0:
            kind = own_kind if own_kind is not None and own_ms > time_ms else QuotaKind.REQUEST
            self._managers.throttled(kind, _user(asker), asker.client_id, throttle_ms)
        return throttle_ms


def mutation_quota(ctx: RequestContext, *, strict_from: int | None) -> MutationQuota:
    """The mutation quota of a request that changes topics. From version `strict_from` on clients accept a rejection."""
    quotas = ctx.services.quotas
    if quotas is None:
        return _UNBOUNDED
    return quotas.mutations(ctx, strict=strict_from is not None and ctx.api_version >= strict_from)


def _user(asker: Asker) -> str:
    """The name of "User:name"."""
    return asker.principal.partition(":")[2]
