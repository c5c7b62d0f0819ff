"""Fetch (key 1, v0-17): record batches for consumers and followers.

The session decides what is read and what has changed; the replication package reads; the answer has slices of
segment files, which are sent by sendfile.
Source      Kafka 3.9 KafkaApis.handleFetchRequest, FetchResponse.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby

from kafka_zk.api.authorization import CLUSTER_NAME, Audit, Operation, ResourceType
from kafka_zk.api.charge import Charge
from kafka_zk.api.data.current_leaders import CurrentLeaders
from kafka_zk.api.data.old_fetchers import ZSTD_FROM, answer_old_fetcher
from kafka_zk.api.data.throttled_bytes import answer_bytes, throttled_bytes
from kafka_zk.api.error_form import Each, Form
from kafka_zk.api.late_answers import when_settled
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.giving_way import in_turns
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import (
    BrokerError,
    ErrorCode,
    TopicAuthorizationFailed,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_zk.protocol.messages.fetch import (
    FETCH_REQUEST,
    FETCH_RESPONSE,
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    SnapshotId,
)
from kafka_zk.protocol.schema import Versions
from kafka_zk.protocol.types import NULL_UUID
from kafka_zk.replication.serving.fetch_context import TOPIC_IDS_FROM, FetchContext, open_context
from kafka_zk.replication.serving.fetch_session import PartitionKey
from kafka_zk.replication.serving.records_view import (
    FetchParams,
    PartitionFetch,
    PartitionRead,
    ReadUpTo,
    release_all,
)

READ_COMMITTED = 1
HARD_LIMIT_UP_TO = 2
"""Up to this version limits hold even if they cut the first batch."""

STORAGE_ERRORS_FROM = 6
"""Before this version clients do not know KAFKA_STORAGE_ERROR."""

FOLLOWERS_FROM = 11
"""From this version on consumers may read from followers."""

REPLICA_STATE_FROM = 15
LEADERS_FROM = 16

NO_DIVERGENCE = EpochEndOffset()
UNKNOWN_LEADER = LeaderIdAndEpoch()
NO_SNAPSHOT = SnapshotId()
"""The answer of most partitions, shared by all of them: parts of a response are never modified."""

Answered = tuple[PartitionFetch, PartitionRead]


def _variant(request: FetchRequest) -> str:
    is_follower = request.replica_id >= 0 or request.replica_state.replica_id >= 0
    return "FetchFollower" if is_follower else "FetchConsumer"


ERRORS = Form(
    (
        Each(
            "topics",
            "responses",
            inner=(
                Each(
                    "partitions",
                    "partitions",
                    same_names=False,
                    copied={"partition_index": "partition"},
                    constants={"high_watermark": -1},
                ),
            ),
            versions=Versions.parse("0-12"),
        ),
    ),
    copied=("session_id",),
    code_counts_always=True,
)


@api(
    FETCH_REQUEST,
    FETCH_RESPONSE,
    errors=ERRORS,
    charge=Charge.FETCHED,
    gives_way=False,
    sends_slices=True,
    variant_of=_variant,
)
def fetch(request: FetchRequest, ctx: RequestContext) -> FetchResponse | Pending[FetchResponse]:
    """Returns a response, or a Pending while there are fewer than min_bytes."""
    services = ctx.services
    started_ns = 0 if services.quotas is None else time.monotonic_ns()
    params = _params(request, ctx)
    context = open_context(
        services.replica_manager.fetch_sessions,
        session_id=request.session_id,
        session_epoch=request.session_epoch,
        api_version=ctx.api_version,
        wanted=_wanted(request, ctx),
        forgotten=_forgotten(request) if request.forgotten_topics_data else (),
        from_follower=params.is_follower,
        name_of=services.metadata_cache.topic_name,
        now_ms=services.clock.monotonic_ms(),
    )
    if context.error_code is not ErrorCode.NONE:
        return FetchResponse(error_code=context.error_code)
    readable, refused = _split(context.wanted, params, ctx)
    if readable and not 0 <= request.isolation_level <= READ_COMMITTED:
        # For the whole request, and only if there is something to read.
        raise BrokerError(f"Unknown isolation level {request.isolation_level}")
    reads = services.replica_manager.fetch(params, readable)
    # Not `services.quotas` as of now: the first quota may have been set during the read.
    local_ns = time.monotonic_ns() - started_ns if started_ns else 0
    if ctx.api_version < ZSTD_FROM:
        return answer_old_fetcher(
            ctx, readable, reads, lambda fit: _response(ctx, params, context, readable, fit, refused, local_ns)
        )
    if isinstance(reads, Pending):
        pending: Pending[FetchResponse] = Pending()

        def finish(done: Pending[list[PartitionRead]]) -> None:
            try:
                response = _response(ctx, params, context, readable, done.value, refused, local_ns)
            except Exception as error:
                # A bug of ours must not reach the producer that ended the wait, but our client.
                pending.fail(error)
            else:
                pending.complete(response)

        if ctx.gives_way:
            when_settled(reads, finish)
        else:
            reads.on_complete(finish)
        pending.when_left(reads.leave)
        return pending
    return _response(ctx, params, context, readable, reads, refused, local_ns)


def _params(request: FetchRequest, ctx: RequestContext) -> FetchParams:
    replica_id = request.replica_state.replica_id if ctx.api_version >= REPLICA_STATE_FROM else request.replica_id
    if replica_id >= 0:
        up_to = ReadUpTo.LOG_END
    elif request.isolation_level == READ_COMMITTED:
        up_to = ReadUpTo.LAST_STABLE_OFFSET
    else:
        up_to = ReadUpTo.HIGH_WATERMARK
    max_bytes = min(request.max_bytes, ctx.services.config.fetch_max_bytes)
    quotas = ctx.services.quotas
    if quotas is not None and replica_id < 0:
        max_bytes = min(max_bytes, quotas.most_fetch_bytes(ctx))
    # Positional: keyword arguments cost a microsecond on every fetch.
    return FetchParams(
        replica_id,
        request.max_wait_ms,
        min(request.min_bytes, max_bytes),
        max_bytes,
        up_to,
        replica_id >= 0 or ctx.api_version < FOLLOWERS_FROM,
        ctx.api_version <= HARD_LIMIT_UP_TO,
        request.rack_id,
    )


def _wanted(request: FetchRequest, ctx: RequestContext) -> list[PartitionFetch]:
    cache = ctx.services.metadata_cache
    by_id = ctx.api_version >= TOPIC_IDS_FROM
    wanted: list[PartitionFetch] = []
    for topic in in_turns(request.topics) if ctx.gives_way else request.topics:
        topic_id = topic.topic_id
        name = cache.topic_name(topic_id) if by_id else topic.topic
        wanted += [
            PartitionFetch(
                name,
                topic_id,
                asked.partition,
                asked.fetch_offset,
                asked.partition_max_bytes,
                asked.log_start_offset,
                asked.current_leader_epoch,
                asked.last_fetched_epoch,
            )
            for asked in (in_turns(topic.partitions) if ctx.gives_way else topic.partitions)
        ]
    return wanted


def _forgotten(request: FetchRequest) -> list[PartitionKey]:
    return [
        (topic.topic_id if topic.topic_id != NULL_UUID else topic.topic, index)
        for topic in in_turns(request.forgotten_topics_data)
        for index in in_turns(topic.partitions)
    ]


def _split(
    wanted: list[PartitionFetch], params: FetchParams, ctx: RequestContext
) -> tuple[list[PartitionFetch], list[Answered]]:
    """The partitions that may be read, and those that are refused before anything is read."""
    services = ctx.services
    topics = services.metadata_cache.snapshot.topics
    checks_clients = services.authorizer is not None and not params.is_follower
    may_follow = not params.is_follower or ctx.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
    may_read: dict[str, bool] | None = _readable_topics(wanted, ctx) if checks_clients else None
    readable: list[PartitionFetch] = []
    refused: list[Answered] = []
    for asked in in_turns(wanted) if ctx.gives_way else wanted:
        topic = asked.topic
        error: BrokerError | None = None
        if not may_follow:
            error = TopicAuthorizationFailed()
        elif topic is None:
            error = UnknownTopicId()
        elif may_read is not None and not may_read[topic]:
            error = TopicAuthorizationFailed()
        elif topic not in topics or asked.partition not in topics[topic].partitions:
            error = UnknownTopicOrPartition()
        if error is None:
            readable.append(asked)
        else:
            read = PartitionRead(error)
            # Kafka answers these with an empty list of transactions, all others without one.
            read.hold((), 0, ())
            refused.append((asked, read))
    return readable, refused


def _readable_topics(wanted: list[PartitionFetch], ctx: RequestContext) -> dict[str, bool]:
    """Whether the client may read each topic: asked once a topic, however many of its partitions are wanted."""
    counts: dict[str, int] = {}
    for asked in in_turns(wanted) if ctx.gives_way else wanted:
        if asked.topic is not None:
            counts[asked.topic] = counts.get(asked.topic, 0) + 1
    return {
        topic: ctx.may(Operation.READ, ResourceType.TOPIC, topic, Audit.ACCESS, count)
        for topic, count in counts.items()
    }


def _response(
    ctx: RequestContext,
    params: FetchParams,
    context: FetchContext,
    readable: Sequence[PartitionFetch],
    reads: Sequence[PartitionRead],
    refused: Sequence[Answered],
    local_ns: int,
) -> FetchResponse:
    """Releases the slices of `reads` before it raises."""
    try:
        answered: list[Answered] = list(zip(readable, reads, strict=True))
        answered += refused
        quotas = ctx.services.quotas
        if quotas is not None:
            throttled = _throttled(ctx, params, context, answered, local_ns)
            if throttled is not None:
                return throttled
        session = context.answer(answered, ctx.services.clock.monotonic_ms())
        topics: list[FetchableTopicResponse] = []
        response = FetchResponse(error_code=session.error_code, session_id=session.session_id, responses=topics)
        if session.error_code is not ErrorCode.NONE:
            for _, read in answered:
                read.release()
            return response
        leaders = CurrentLeaders(ctx) if ctx.api_version >= LEADERS_FROM else None
        last: FetchableTopicResponse | None = None
        answers = zip(answered, session.included, strict=True)
        for (asked, read), included in in_turns(answers) if ctx.gives_way else answers:
            if not included:
                read.release()
                continue
            _count(ctx, params, asked, read)
            name = asked.topic or ""
            if last is None or last.topic_id != asked.topic_id or last.topic != name:
                last = FetchableTopicResponse(topic=name, topic_id=asked.topic_id, partitions=[])
                topics.append(last)
            last.partitions.append(_partition_data(asked, read, ctx.api_version, leaders))
        if leaders is not None and leaders.nodes:
            response.node_endpoints = [
                NodeEndpoint(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
                for node in leaders.nodes.values()
            ]
        if params.is_follower:
            manager = ctx.services.replica_manager
            manager.leader_throttle.record(throttled_bytes(ctx.api_version, topics, manager.throttles_as_leader))
        return response
    except BaseException:
        # Any exception, also GreenletExit in a greenlet that yields.
        release_all(reads)
        raise


def _throttled(
    ctx: RequestContext, params: FetchParams, context: FetchContext, answered: Sequence[Answered], local_ns: int
) -> FetchResponse | None:
    """The empty answer of a throttled consumer, None if it is not throttled."""
    quotas = ctx.services.quotas
    assert quotas is not None
    if params.is_follower:
        quotas.fetch_exempt(local_ns)
        return None
    throttle_ms = quotas.fetch_throttle_ms(ctx, _answer_bytes(ctx.api_version, context, answered), local_ns)
    if not throttle_ms:
        return None
    for _, read in answered:
        read.release()
    session = context.throttled_answer()
    return FetchResponse(
        throttle_time_ms=throttle_ms, error_code=session.error_code, session_id=session.session_id, responses=[]
    )


def _answer_bytes(api_version: int, context: FetchContext, answered: Sequence[Answered]) -> int:
    """The size of the answer that would be sent. It is known only once the answer is built."""
    sent = [each for each, included in zip(answered, context.would_include(answered), strict=True) if included]
    topics = [
        FetchableTopicResponse(
            topic=asked_of[0],
            topic_id=asked_of[1],
            partitions=[_partition_data(asked, read, api_version, None) for asked, read in partitions],
        )
        for asked_of, partitions in groupby(sent, lambda each: (each[0].topic or "", each[0].topic_id))
    ]
    return answer_bytes(api_version, topics)


def _partition_data(
    asked: PartitionFetch, read: PartitionRead, api_version: int, leaders: CurrentLeaders | None
) -> PartitionData:
    """`leaders` go to clients that support them, if they asked the wrong broker."""
    aborted = read.aborted_transactions
    diverging = read.diverging_epoch
    leader = UNKNOWN_LEADER
    error_code = ErrorCode.NONE
    if read.error is not None:
        error_code = _code_for(read.error, api_version)
        if leaders is not None and error_code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH):
            leader_id, leader_epoch = leaders.of(asked.topic or "", asked.partition)
            leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
    return PartitionData(
        partition_index=asked.partition,
        error_code=error_code,
        high_watermark=read.high_watermark,
        last_stable_offset=read.last_stable_offset,
        log_start_offset=read.log_start_offset,
        diverging_epoch=NO_DIVERGENCE
        if diverging is None
        else EpochEndOffset(epoch=diverging.epoch, end_offset=diverging.end_offset),
        current_leader=leader,
        snapshot_id=NO_SNAPSHOT,
        aborted_transactions=None
        if aborted is None
        else [AbortedTransaction(producer_id=txn.producer_id, first_offset=txn.first_offset) for txn in aborted],
        preferred_read_replica=read.preferred_read_replica,
        records=read.records,
    )


def _code_for(error: BrokerError, api_version: int) -> ErrorCode:
    if error.code is ErrorCode.KAFKA_STORAGE_ERROR and api_version < STORAGE_ERRORS_FROM:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return error.code


def _count(ctx: RequestContext, params: FetchParams, asked: PartitionFetch, read: PartitionRead) -> None:
    if asked.topic is None or read.error is not None:
        return
    stats = ctx.services.replica_manager.topic_stats
    metrics = stats.topic(asked.topic)
    metrics.total_fetch_requests(1)
    if not read.size_bytes:
        return
    if not params.is_follower:
        metrics.bytes_out(read.size_bytes)
        return
    stats.replication_bytes_out(read.size_bytes)
    partition = ctx.services.replica_manager.hosted.find(asked.topic, asked.partition)
    if partition is not None and partition.is_adding(params.replica_id):
        stats.reassignment_bytes_out(read.size_bytes)
