"""Request metrics: how often each API is called, how it ends, and where the time of a request goes.

Role        Pure. The connection calls `record` once an answer is sent; the fold does the rest.
Invariants  TotalTimeMs is the sum of the five parts. A fetch counts under its own name and under Fetch.
            A fold takes a bounded part of what is pending, so that it never holds up the loop for long.
Source      RequestMetrics.java, RequestChannel.Request.updateRequestMetrics.

A record is a plain tuple, because building one costs 50 ns where a named one costs 300:
    (request, api_version, size_bytes, queue_ms, local_ms, remote_ms, response_queue_ms, send_ms, throttle_ms, errors)
`request` is the API's name ("Produce"; of Fetch: "FetchConsumer" or "FetchFollower"). Times are whole milliseconds,
rounded, as in Kafka: so most records of a second are equal, and folding is counting equal tuples. `errors` holds
(error name, how often) pairs such as ("NOT_LEADER_OR_FOLLOWER", 2), or is None for one NONE.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Callable

from kafka_zk.metrics.registry import MetricsRegistry

RequestRecord = tuple[str, int, int, int, int, int, int, int, int, tuple[tuple[str, int], ...] | None]

REQUEST_NAMES = (
    "AddOffsetsToTxn", "AddPartitionsToTxn", "AddPartitionsToTxnVerification", "AllocateProducerIds",
    "AlterClientQuotas", "AlterConfigs", "AlterPartition", "AlterPartitionReassignments", "AlterReplicaLogDirs",
    "AlterUserScramCredentials", "ApiVersions", "ConsumerGroupDescribe", "ConsumerGroupHeartbeat",
    "ControlledShutdown", "CreateAcls", "CreateDelegationToken", "CreatePartitions", "CreateTopics", "DeleteAcls",
    "DeleteGroups", "DeleteRecords", "DeleteTopics", "DescribeAcls", "DescribeClientQuotas", "DescribeCluster",
    "DescribeConfigs", "DescribeDelegationToken", "DescribeGroups", "DescribeLogDirs", "DescribeProducers",
    "DescribeTransactions", "DescribeUserScramCredentials", "ElectLeaders", "EndTxn", "Envelope",
    "ExpireDelegationToken", "Fetch", "FetchConsumer", "FetchFollower", "FindCoordinator", "Heartbeat",
    "IncrementalAlterConfigs", "InitProducerId", "JoinGroup", "LeaderAndIsr", "LeaveGroup", "ListGroups",
    "ListOffsets", "ListPartitionReassignments", "ListTransactions", "Metadata", "OffsetCommit", "OffsetDelete",
    "OffsetFetch", "OffsetForLeaderEpoch", "Produce", "RenewDelegationToken", "SaslAuthenticate", "SaslHandshake",
    "StopReplica", "SyncGroup", "TxnOffsetCommit", "UpdateFeatures", "UpdateMetadata", "WriteTxnMarkers",
)  # fmt: skip

_MBEAN = "kafka.network:type=RequestMetrics,name="
# Position in a record of the value of each histogram.
_COLUMNS = (
    ("RequestBytes", 2),
    ("RequestQueueTimeMs", 3),
    ("LocalTimeMs", 4),
    ("RemoteTimeMs", 5),
    ("ResponseQueueTimeMs", 6),
    ("ResponseSendTimeMs", 7),
    ("ThrottleTimeMs", 8),
)
_ONE_NONE = (("NONE", 1),)
# About 2 ms of work.
_FOLD_AT_ONCE = 10_000


class RequestMetrics:
    """`record(tuple)` is a bare list.append."""

    def __init__(self, registry: MetricsRegistry) -> None:
        self._registry = registry
        self._pending: list[RequestRecord] = []
        self.record: Callable[[RequestRecord], None] = self._pending.append
        for request in REQUEST_NAMES:
            for name in (*(name for name, _ in _COLUMNS), "TotalTimeMs"):
                registry.histogram(_MBEAN + name, request=request)
        registry.on_fold(self._fold)

    def _fold(self, now_ms: int) -> bool:
        """Take in a part of what is pending; whether there is more."""
        part = self._pending[:_FOLD_AT_ONCE]
        del self._pending[:_FOLD_AT_ONCE]
        by_request: dict[str, list[tuple[RequestRecord, int]]] = defaultdict(list)
        for record, times in Tally(part).items():
            by_request[record[0]].append((record, times))
        for request, tally in by_request.items():
            names = (request, "Fetch") if request in ("FetchConsumer", "FetchFollower") else (request,)
            for name in names:
                self._fold_request(name, tally, now_ms)
        return bool(self._pending)

    def _fold_request(self, request: str, tally: list[tuple[RequestRecord, int]], now_ms: int) -> None:
        versions: Tally[int] = Tally()
        errors: Tally[str] = Tally()
        totals: Tally[float] = Tally()
        columns: list[tuple[str, int, Tally[float]]] = [(name, position, Tally()) for name, position in _COLUMNS]
        for record, times in tally:
            versions[record[1]] += times
            totals[record[3] + record[4] + record[5] + record[6] + record[7]] += times
            for error, count in record[9] or _ONE_NONE:
                errors[error] += count * times
            for _, position, values in columns:
                values[record[position]] += times  # type: ignore[index]
        registry = self._registry
        for version, times in versions.items():
            registry.meter(_MBEAN + "RequestsPerSec", request=request, version=version).add(times)
        for error, times in errors.items():
            registry.meter(_MBEAN + "ErrorsPerSec", request=request, error=error).add(times)
        registry.histogram(_MBEAN + "TotalTimeMs", request=request).add(totals.items(), now_ms)
        for name, _, values in columns:
            registry.histogram(_MBEAN + name, request=request).add(values.items(), now_ms)
