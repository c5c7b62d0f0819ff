"""A leader that does not know what is committed, and a produce that waits for a replica that is gone: what clients are
told meanwhile, by Apache's broker and by ours.

Both brokers start on a partition whose other replica is on a broker that nobody can reach.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kafka_zk.log.files import names
from kafka_zk.log.files.checkpoint import encode_offsets
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.header import decode_response_header, response_header_is_flexible
from kafka_zk.protocol.messages.list_offsets import (
    LIST_OFFSETS_REQUEST,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_zk.protocol.messages.produce import (
    PRODUCE_REQUEST,
    PRODUCE_RESPONSE,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_zk.protocol.types import TopicPartition, uuid_to_base64
from kafka_zk.record.builder import build_batch
from kafka_zk.record.types import Record
from tests.interop.bad_files import CLUSTER_ID, LATEST_EPOCH, NOW, SOUND, given_directory, topic_id_of
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import ConnectionClosed, RawClient
from tests.support.wire import try_fetch
from tests.support.znodes import as_json, looking_at

TOPIC = SOUND.topic
HERE, GONE = 0, 1
COMMITTED = 5
LATEST, EARLIEST, LARGEST = -1, -2, -3
GARBAGE = struct.pack(">i", (1 << 31) - 1) + b"no request"


def given_znodes(connect: str, isr: list[int]) -> None:
    assignment = {
        "version": 3,
        "partitions": {"0": [HERE, GONE]},
        "adding_replicas": {},
        "removing_replicas": {},
        "topic_id": uuid_to_base64(topic_id_of(SOUND)),
    }
    state = {"version": 1, "leader": HERE, "leader_epoch": LATEST_EPOCH + 1, "controller_epoch": 0, "isr": isr}
    given = {
        "/cluster/id": {"version": "1", "id": CLUSTER_ID},
        f"/brokers/topics/{TOPIC}": assignment,
        f"/brokers/topics/{TOPIC}/partitions/0/state": state,
    }
    if GONE in isr:
        # Controllers take who is not registered out of the ISR.
        given[f"/brokers/ids/{GONE}"] = {
            "version": 5,
            "host": "127.0.0.1",
            "port": 1,
            "endpoints": ["PLAINTEXT://127.0.0.1:1"],
            "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
            "jmx_port": -1,
            "timestamp": str(NOW),
            "features": {},
        }
    with looking_at(connect) as zk:
        for path, document in given.items():
            zk.create(path, as_json(document), makepath=True)


def started(
    kind: type[ApacheBroker | OurBroker], home: Path, connect: str, isr: list[int], **overrides: str
) -> ApacheBroker | OurBroker:
    """A broker that leads the partition: of its records, only COMMITTED are known to be on the other replica."""
    given_znodes(connect, isr)
    home.mkdir()
    given_directory(home / "data", SOUND)
    (home / "data" / names.HIGH_WATERMARKS).write_bytes(encode_offsets({TopicPartition(TOPIC, 0): COMMITTED}))
    broker = kind(home, connect, overrides={name.replace("_", "."): value for name, value in overrides.items()})
    broker.start()
    with RawClient(broker.bootstrap) as client:
        wait_until(lambda: try_fetch(client, TOPIC, COMMITTED)[0] == ErrorCode.NONE, "the partition is led")
    return broker


def offsets_told(broker: ApacheBroker | OurBroker) -> dict[tuple[int, int, int, int], tuple[str, int]]:
    """By version, replica id, isolation level and time that is asked for: the error, and the offset."""
    told = {}
    for version in range(1, 10):
        for replica_id in (-1, -2, GONE):
            for isolation_level in (0, 1) if version >= 2 else (0,):
                for timestamp in (LATEST, EARLIEST, NOW + 1, NOW + 8, *((LARGEST,) if version >= 7 else ())):
                    wanted = ListOffsetsTopic(
                        name=TOPIC, partitions=[ListOffsetsPartition(partition_index=0, timestamp=timestamp)]
                    )
                    request = ListOffsetsRequest(
                        replica_id=replica_id, isolation_level=isolation_level, topics=[wanted]
                    )
                    with RawClient(broker.bootstrap) as client:
                        found = client.send(LIST_OFFSETS_REQUEST, request, version).topics[0].partitions[0]
                    key = version, replica_id, isolation_level, timestamp
                    told[key] = ErrorCode(found.error_code).name, found.offset
    return told


def test_clients_are_not_told_an_end_that_is_not_committed_and_replicas_are(
    tmp_path: Path, zookeeper_connect: str
) -> None:
    told = []
    for kind in (ApacheBroker, OurBroker):
        name = kind.__name__
        broker = started(kind, tmp_path / name, f"{zookeeper_connect}-{name}", [HERE], min_insync_replicas="2")
        try:
            told.append(offsets_told(broker))
        finally:
            broker.stop()
    assert told[0][9, -1, 0, LATEST][0] == "OFFSET_NOT_AVAILABLE"
    assert told[0][9, GONE, 0, LATEST] == ("NONE", 12)
    assert told[1] == told[0]


def answer_before_garbage(broker: ApacheBroker | OurBroker, garbage: bytes) -> tuple[str, str]:
    """What a produce with acks=all is answered that garbage follows, and what becomes of the connection."""
    data = bytes(build_batch([Record(0, NOW, b"key", b"value")]))
    partition = PartitionProduceData(index=0, records=data)
    request = ProduceRequest(
        acks=-1, timeout_ms=2_000, topic_data=[TopicProduceData(name=TOPIC, partition_data=[partition])]
    )
    with RawClient(broker.bootstrap) as client:
        client.post(PRODUCE_REQUEST, request, 9)
        client._socket.sendall(garbage)
        try:
            frame = client.receive_frame()
        except ConnectionClosed:
            return "closed", ""
        _, position = decode_response_header(frame, response_header_is_flexible(0, 9))
        answer = PRODUCE_RESPONSE.decode(frame, 9, position).responses[0].partition_responses[0]
        said = ErrorCode(answer.error_code).name
        try:
            client.receive_frame()
        except ConnectionClosed:
            return said, "closed"
        return said, "answered again"


@pytest.mark.parametrize("garbage", [GARBAGE, struct.pack(">i", 6) + b"\xff" * 6], ids=["a length", "a header"])
def test_a_produce_that_waits_is_answered_before_the_garbage_behind_it(
    tmp_path: Path, zookeeper_connect: str, garbage: bytes
) -> None:
    found = []
    for kind in (ApacheBroker, OurBroker):
        name = kind.__name__
        broker = started(kind, tmp_path / name, f"{zookeeper_connect}-{name}", [HERE, GONE])
        try:
            found.append(answer_before_garbage(broker, garbage))
        finally:
            broker.stop()
    assert found == [("REQUEST_TIMED_OUT", "closed")] * 2
