"""Fetch for old versions: down-conversion, and records that they cannot be sent.

Role        Up to version 3 of Fetch a client reads message sets of magic 1, up to version 1 of magic 0; up to version
            9 it does not know zstd.
Invariants  The loop converts for about a millisecond at most, and never in the greenlet that ends a wait, which
            is a producer's. More goes to the helper process of the package `log`.
            The slices of unanswered reads are released, however the conversion ends.
Differs from Kafka: converts before the answer is sent, not while it is. Many old clients at once, none of which reads
            its answers, get shorter ones.
Source      Kafka 3.9 KafkaApis.handleFetchRequest (maybeConvertFetchedData), RecordsUtil.downConvert.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import gevent

from kafka_zk.api.late_answers import when_settled
from kafka_zk.api.request_context import RequestContext
from kafka_zk.giving_way import InTurns, in_turns
from kafka_zk.log.down_converter import Converted, Stored
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import BrokerError, UnsupportedCompressionType, UnsupportedVersion
from kafka_zk.record.batch import batches
from kafka_zk.record.conversion import DownConversion
from kafka_zk.replication.serving.records_view import PartitionFetch, PartitionRead, release_all

if TYPE_CHECKING:
    from kafka_zk.log.segments.slice import FileSlice
    from kafka_zk.protocol.messages.fetch import FetchResponse

MAGIC_1_UP_TO = 3
MAGIC_0_UP_TO = 1
ZSTD_FROM = 10

INLINE_BYTES = 32 * 1024
"""Of one request, uncompressed: about a millisecond. A call of the helper process takes 0.2 ms, the first one 0.2 s."""

Respond = Callable[[list[PartitionRead]], "FetchResponse"]


class _ToConvert(NamedTuple):
    """One partition's read that its fetcher cannot take unconverted."""

    asked: PartitionFetch
    read: PartitionRead
    piece: FileSlice


def answer_old_fetcher(
    ctx: RequestContext,
    wanted: Sequence[PartitionFetch],
    reads: list[PartitionRead] | Pending[list[PartitionRead]],
    respond: Respond,
) -> FetchResponse | Pending[FetchResponse]:
    """`respond(reads)` once they suit the version of `ctx`: converted, or with errors instead of records."""
    if not isinstance(reads, Pending):
        try:
            to_convert = _unfit(ctx, wanted, reads)
            if not to_convert or _convert_here(ctx, to_convert):
                return respond(reads)
        except BaseException:
            release_all(reads)
            raise
    pending: Pending[FetchResponse] = Pending()

    def finish(done: Pending[list[PartitionRead]]) -> None:
        try:
            to_convert = _unfit(ctx, wanted, done.value)
            response = None if to_convert else respond(done.value)
        except BaseException as error:
            # As in `fetch`: the producer whose records ended the wait must not get this error.
            _abandon(done.value if done.error is None else (), pending, error)
            return
        if response is None:
            gevent.spawn(_convert_and_respond, ctx, to_convert, done.value, respond, pending)
        else:
            pending.complete(response)

    if isinstance(reads, Pending):
        if ctx.gives_way:
            when_settled(reads, finish)
        else:
            reads.on_complete(finish)
        pending.when_left(reads.leave)
    else:
        gevent.spawn(_convert_and_respond, ctx, to_convert, reads, respond, pending)
    return pending


def _unfit(ctx: RequestContext, wanted: Sequence[PartitionFetch], reads: Sequence[PartitionRead]) -> list[_ToConvert]:
    """Yields to other greenlets. Returns what must be converted; replaces what cannot be with an error."""
    found: list[_ToConvert] = []
    both = zip(wanted, reads, strict=True)
    for asked, read in in_turns(both) if ctx.gives_way else both:
        if read.error is None:
            try:
                if _must_convert(ctx, asked, read):
                    (piece,) = read.slices
                    found.append(_ToConvert(asked, read, piece))  # type: ignore[arg-type]  # not converted yet
            except BrokerError as error:
                read.fail(error)
    return found


def _must_convert(ctx: RequestContext, asked: PartitionFetch, read: PartitionRead) -> bool:
    """Raises the error that the fetcher gets instead of records."""
    log = ctx.services.replica_manager.hosted.get(asked.topic or "", asked.partition).log
    if log is None:
        return False
    config = log.config
    if config.compression_type == "zstd":
        raise UnsupportedCompressionType("The topic is compressed with zstd, which this version of Fetch cannot carry")
    if ctx.api_version > MAGIC_1_UP_TO or not read.size_bytes:
        return False
    if not config.message_downconversion_enable:
        raise UnsupportedVersion("Down-conversion of records is disabled for this topic")
    return True


def _magic(ctx: RequestContext) -> int:
    return 0 if ctx.api_version <= MAGIC_0_UP_TO else 1


def _convert_and_respond(
    ctx: RequestContext,
    to_convert: Sequence[_ToConvert],
    reads: list[PartitionRead],
    respond: Respond,
    pending: Pending[FetchResponse],
) -> None:
    """Blocks. Runs in its own greenlet."""
    try:
        if not _convert_here(ctx, to_convert):
            _convert_elsewhere(ctx, to_convert)
        with InTurns(large=ctx.gives_way):
            response = respond(reads)
    except BaseException as error:
        _abandon(reads, pending, error)
    else:
        pending.complete(response)


def _abandon(reads: Sequence[PartitionRead], pending: Pending[FetchResponse], error: BaseException) -> None:
    """Fail the answer; re-raise `error` if it ends the greenlet. Slices hold segment files until released."""
    release_all(reads)
    pending.fail(error if isinstance(error, Exception) else BrokerError())
    if not isinstance(error, Exception):
        raise error


def _convert_here(ctx: RequestContext, to_convert: Sequence[_ToConvert]) -> bool:
    """Convert now if it is small, in memory and uncompressed; else return False without doing anything."""
    if any(each.piece.is_cold for each in to_convert):
        return False
    if sum(each.piece.size_bytes for each in to_convert) > INLINE_BYTES:
        return False
    started_ns = time.monotonic_ns()
    try:
        stored = [list(batches(each.piece.read())) for each in to_convert]
    except (BrokerError, OSError):
        return False  # over there each partition gets its own error
    if any(batch.header.is_compressed for found in stored for batch in found):
        return False
    temporary_bytes = 0
    for each, found in zip(to_convert, stored, strict=True):
        conversion = DownConversion(magic=_magic(ctx), first_offset=each.asked.fetch_offset)
        try:
            each.read.replace(b"".join(conversion.parts(found, each.piece.size_bytes)))
        except BrokerError as error:
            each.read.fail(error)
            continue
        temporary_bytes += conversion.temporary_bytes
        _count(ctx, each, conversion.record_count)
    ctx.services.log_manager.fetch_conversions.note(time.monotonic_ns() - started_ns, temporary_bytes)
    return True


def _convert_elsewhere(ctx: RequestContext, to_convert: Sequence[_ToConvert]) -> None:
    """Blocks. Convert the reads in the helper process, in place."""
    converter = ctx.services.log_manager.down_converter
    duration_ns = temporary_bytes = 0
    wanted = [Stored(each.piece, each.asked.fetch_offset) for each in to_convert]
    for each, answer in zip(to_convert, converter.convert(wanted, magic=_magic(ctx)), strict=True):
        if isinstance(answer, Converted):
            each.read.replace(answer.piece or b"")
            _count(ctx, each, answer.cost.record_count)
            duration_ns += answer.cost.duration_ns
            temporary_bytes += answer.cost.temporary_bytes
        else:
            each.read.fail(answer)
    ctx.services.log_manager.fetch_conversions.note(duration_ns, temporary_bytes)


def _count(ctx: RequestContext, converted: _ToConvert, record_count: int) -> None:
    if record_count:
        topic = converted.asked.topic or ""
        ctx.services.replica_manager.topic_stats.topic(topic).fetch_message_conversions(record_count)
