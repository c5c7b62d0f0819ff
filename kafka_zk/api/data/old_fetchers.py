"""Records for fetchers of old versions: down-conversion, and what they must not get.

Role        Up to version 3 of Fetch a client reads message sets of magic 1, up to version 1 of magic 0; up to version
            9 it does not know zstd.
Differs from Kafka: converts while the answer is made, not while it is sent; one partition's converted data is whole in
            memory. Old clients are few, and their fetches bounded.
Source      Kafka 3.9 KafkaApis.handleFetchRequest (maybeConvertFetchedData), RecordsUtil.downConvert.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_zk.api.context import RequestContext
from kafka_zk.protocol.errors import BrokerError, UnsupportedCompressionType, UnsupportedVersion
from kafka_zk.replication.records_view import PartitionFetch, PartitionRead

if TYPE_CHECKING:
    from kafka_zk.config.topic import LogConfig

MAGIC_1_UP_TO = 3
MAGIC_0_UP_TO = 1
ZSTD_FROM = 10


def convert_for(ctx: RequestContext, wanted: Sequence[PartitionFetch], reads: Sequence[PartitionRead]) -> None:
    """Make `reads` fit for the version of `ctx`: convert, or put an error in the place of the records."""
    if ctx.api_version >= ZSTD_FROM:
        return
    for asked, read in zip(wanted, reads, strict=True):
        if read.error is not None:
            continue
        log = ctx.services.replica_manager.hosted.get(asked.topic or "", asked.partition).log
        if log is None:
            continue
        try:
            _fit(read, asked, log.config, ctx.api_version)
        except BrokerError as error:
            read.fail(error)


def _fit(read: PartitionRead, asked: PartitionFetch, config: LogConfig, api_version: int) -> None:
    if config.compression_type == "zstd":
        raise UnsupportedCompressionType("The topic is compressed with zstd, which this version of Fetch cannot carry")
    if api_version > MAGIC_1_UP_TO or not read.size_bytes:
        return
    if not config.message_downconversion_enable:
        raise UnsupportedVersion("Down-conversion of records is disabled for this topic")
    # Importing it costs start-up time that almost no broker needs to spend.
    from kafka_zk.record.conversion import convert_down

    magic = 0 if api_version <= MAGIC_0_UP_TO else 1
    stored = b"".join(piece.read() for piece in read.slices)
    converted = convert_down(stored, magic=magic, first_offset=asked.fetch_offset)
    read.replace(converted)
