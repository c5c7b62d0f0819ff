"""Moves the ends of a stream's batches to where they cut no transaction.

Role        Acts, on the driver: reads the headers of the batches that a limit may divide, so their records come twice.
            whole_transactions.py decides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafka_zk.client.range_reading.errors import EndBeyondLog, OffsetsLost, RangeError, TopicReplaced
from kafka_zk.client.range_reading.range_reader import RangeReader
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.types import NULL_UUID, TopicPartition, uuid_from_base64
from kafka_zk.spark.client_secrets import resolved
from kafka_zk.spark.sources.errors import SourceError
from kafka_zk.spark.sources.ranges import OffsetRange
from kafka_zk.spark.sources.whole_transactions import whole_end


def whole_ends(
    client: Mapping[str, str],
    wanted: Collection[OffsetRange],
    readable_to: Mapping[TopicPartition, int],
    topic_ids: Mapping[str, str],
) -> dict[TopicPartition, int]:
    """Blocks. The end of each wanted range, moved so that it cuts no transaction; `client` reads what is committed.

    What was deleted meanwhile leaves an end as it was: it is told when the batch is planned. Raises SourceError.
    """
    if not wanted:
        return {}
    # The tasks check what they read.
    with RangeReader({**resolved(client), "check.crcs": "false"}) as reader:
        return {each.topic_partition: _whole_end(reader, each, readable_to, topic_ids) for each in wanted}


def _whole_end(
    reader: RangeReader, wanted: OffsetRange, readable_to: Mapping[TopicPartition, int], topic_ids: Mapping[str, str]
) -> int:
    partition, start, limit = wanted
    end = readable_to[partition]
    named = topic_ids.get(partition.topic, "")
    topic_id = uuid_from_base64(named) if named else NULL_UUID
    while True:
        try:
            headers = reader.decided_headers(partition, start, end, topic_id)
            return whole_end(headers, start=start, limit=limit, end=end)
        except OffsetsLost as error:
            start = error.log_start_offset
            if start >= limit:
                return limit
        except (EndBeyondLog, TopicReplaced):
            return limit
        except (RangeError, BrokerError) as error:
            raise SourceError(f"Could not look for the ends of transactions: {error}") from error
