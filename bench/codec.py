"""How fast the compiled codec is, beside its pure twin and kio 0.5.0: `python bench/codec.py`.

Prints the best of several runs in microseconds: a Produce v9 request with one partition decoded, its response encoded,
a request header decoded, a Metadata v12 response with 1,000 partitions encoded, a Fetch v12 exchange.
Floors: a Produce decoded, its response made and encoded 4 us together, Metadata 3,000 us, header 0.6 us.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from bench.process import run_bench
from kafka_zk.protocol.coding import CODEC
from kafka_zk.protocol.header import decode_request_header, encode_request_header
from kafka_zk.protocol.messages.fetch import (
    FETCH_REQUEST,
    FETCH_RESPONSE,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kafka_zk.protocol.messages.metadata import (
    METADATA_RESPONSE,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_zk.protocol.messages.produce import (
    PRODUCE_REQUEST,
    PRODUCE_RESPONSE,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

ANSWERING = ("Produce v9 decoded", "Produce v9 response made", "Produce v9 response encoded")


def best_us(work: Callable[[], Any], number: int) -> float:
    return min(timeit.repeat(work, number=number, repeat=9)) / number * 1e6


def produce_request() -> ProduceRequest:
    partition = PartitionProduceData(index=3, records=bytes(170))
    return ProduceRequest(
        acks=-1, timeout_ms=30000, topic_data=[TopicProduceData(name="flights", partition_data=[partition])]
    )


def produce_response() -> ProduceResponse:
    partition = PartitionProduceResponse(index=3, base_offset=123456, log_start_offset=0)
    return ProduceResponse(responses=[TopicProduceResponse(name="flights", partition_responses=[partition])])


def metadata_response(partition_count: int) -> MetadataResponse:
    partitions = [
        MetadataResponsePartition(
            partition_index=index, leader_id=index % 3, leader_epoch=5, replica_nodes=[0, 1, 2], isr_nodes=[0, 1, 2]
        )
        for index in range(partition_count)
    ]
    brokers = [MetadataResponseBroker(node_id=node, host="broker.example", port=9092) for node in range(3)]
    topic = MetadataResponseTopic(name="flights", topic_id=UUID(int=7), partitions=partitions)
    return MetadataResponse(brokers=brokers, cluster_id="vnAQN8qHRq2Wq7Wc2dXXXX", controller_id=1, topics=[topic])


def fetch_request() -> FetchRequest:
    partitions = [FetchPartition(partition=index, fetch_offset=100, partition_max_bytes=1 << 20) for index in range(4)]
    return FetchRequest(topics=[FetchTopic(topic="flights", partitions=partitions)])


def fetch_response() -> FetchResponse:
    partitions = [PartitionData(partition_index=index, high_watermark=100, records=b"") for index in range(4)]
    return FetchResponse(responses=[FetchableTopicResponse(topic="flights", partitions=partitions)])


def ours() -> dict[str, float]:
    frame = bytearray(encode_request_header(0, 9, 7, "producer-1") + PRODUCE_REQUEST.encode(produce_request(), 9))
    body = decode_request_header(frame).body_position
    decode_produce, encode_produce = PRODUCE_REQUEST.decoder(9), PRODUCE_RESPONSE.encoder(9)
    answer, cluster = produce_response(), metadata_response(1000)
    encode_metadata = METADATA_RESPONSE.encoder(12)
    fetch, fetched = FETCH_REQUEST.encode(fetch_request(), 12), fetch_response()
    decode_fetch, encode_fetch = FETCH_REQUEST.decoder(12), FETCH_RESPONSE.encoder(12)
    return {
        "header decoded": best_us(lambda: decode_request_header(frame), 50_000),
        "Produce v9 decoded": best_us(lambda: decode_produce(frame, body), 50_000),
        "Produce v9 response encoded": best_us(lambda: encode_produce(answer), 50_000),
        "Produce v9 response made": best_us(produce_response, 50_000),
        "Metadata v12, 1000 partitions encoded": best_us(lambda: encode_metadata(cluster), 50),
        "Fetch v12, 4 partitions decoded": best_us(lambda: decode_fetch(fetch, 0), 20_000),
        "Fetch v12, 4 partitions encoded": best_us(lambda: encode_fetch(fetched), 20_000),
        "Fetch v12 response in parts": best_us(lambda: FETCH_RESPONSE.encode_parts(fetched, 12), 20_000),
    }


def pure() -> dict[str, float]:
    """`ours` in a process where the compiled module cannot be found."""
    hidden = "import sys, json; sys.modules['kafka_zk.protocol._codec'] = None; import bench.codec as codec; "
    measure = "assert codec.CODEC == 'pure'; print(json.dumps(codec.ours()))"
    project = Path(__file__).resolve().parents[1]
    run = subprocess.run([sys.executable, "-c", hidden + measure], cwd=project, check=True, stdout=subprocess.PIPE)
    figures: dict[str, float] = json.loads(run.stdout)
    return figures


def kio() -> dict[str, float]:
    from kio.schema.fetch.v12 import request as fetch_v12
    from kio.schema.metadata.v12 import response as metadata_v12
    from kio.schema.produce.v9 import request as produce_v9
    from kio.schema.produce.v9 import response as produced_v9
    from kio.serial import entity_reader, entity_writer

    read_produce, read_fetch = entity_reader(produce_v9.ProduceRequest), entity_reader(fetch_v12.FetchRequest)
    read_answer, write_answer = entity_reader(produced_v9.ProduceResponse), entity_writer(produced_v9.ProduceResponse)
    read_metadata = entity_reader(metadata_v12.MetadataResponse)
    write_metadata = entity_writer(metadata_v12.MetadataResponse)
    produce = PRODUCE_REQUEST.encode(produce_request(), 9)
    answer = _value(read_answer(PRODUCE_RESPONSE.encode(produce_response(), 9), 0))
    cluster = _value(read_metadata(METADATA_RESPONSE.encode(metadata_response(1000), 12), 0))
    fetch = FETCH_REQUEST.encode(fetch_request(), 12)
    return {
        "Produce v9 decoded": best_us(lambda: read_produce(produce, 0), 2_000),
        "Produce v9 response encoded": best_us(lambda: write_answer(io.BytesIO(), answer), 2_000),
        "Metadata v12, 1000 partitions encoded": best_us(lambda: write_metadata(io.BytesIO(), cluster), 2),
        "Fetch v12, 4 partitions decoded": best_us(lambda: read_fetch(fetch, 0), 2_000),
    }


def _value(read: Any) -> Any:
    """kio's readers return the entity and how much they read."""
    return read[0]


def main() -> int:
    if CODEC != "compiled":
        print("the compiled codec is not built: python setup.py build_ext --inplace", file=sys.stderr)
        return 2
    mine, twin, theirs = ours(), pure(), kio()
    print(f"{'best of 9, us':40s}{'compiled':>12s}{'pure':>12s}{'kio 0.5.0':>12s}")
    for label, figure in mine.items():
        print(f"{label:40s}{figure:12.2f}{twin[label]:12.2f}" + (f"{theirs[label]:12.2f}" if label in theirs else ""))
    together, twin_together = (sum(figures[label] for label in ANSWERING) for figures in (mine, twin))
    print(f"{'Produce v9 decoded and answered':40s}{together:12.2f}{twin_together:12.2f}")
    floors = together <= 4 and mine["Metadata v12, 1000 partitions encoded"] <= 3000 and mine["header decoded"] < 0.6
    print("all floors held" if floors else "A FLOOR IS BROKEN")
    return 0 if floors else 1


if __name__ == "__main__":
    run_bench(main)
