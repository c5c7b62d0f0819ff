"""Apache's own requests for the same scenes, byte for byte, over a model ZooKeeper."""

import json
from pathlib import Path

import pytest

from kafka_zk.config.endpoints import EndPoint
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.header import decode_request_header
from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_zk.protocol.messages.stop_replica import StopReplicaRequest
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_zk.protocol.types import uuid_from_base64
from kafka_zk.zk.znodes import BrokerRegistration
from tests.simulation.fake_cluster import FakeCluster
from tests.simulation.scenes import requests_since, start_move, tp

CAPTURED = Path(__file__).parents[1] / "golden" / "controller-requests" / "requests.jsonl"


def captured(*numbers):
    """(broker, request) for the captured frames, brokers and leaders in the order of their ids."""
    found = {}
    for line in CAPTURED.read_text().splitlines():
        entry = json.loads(line)
        frame = bytes.fromhex(entry["request_hex"])
        header = decode_request_header(frame)
        request = API_TABLE[header.api_key].request.decode(frame, header.api_version, header.body_position)
        found[entry["seq"]] = (entry["broker"], request)
    return [found[number] for number in numbers]


@pytest.fixture
def captured_cluster():
    made = FakeCluster([1, 2], auto_leader_rebalance_enable=False)
    made.describe = lambda broker_id: BrokerRegistration(
        broker_id,
        (
            EndPoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 19391 + 2 * broker_id),
            EndPoint("SASL_PLAINTEXT", "SASL_PLAINTEXT", "127.0.0.1", 19392 + 2 * broker_id),
        ),
        rack=f"rack-{'ab'[broker_id - 1]}",
    )
    made.zookeeper.zxid = 48
    made.start_together(2, 1)
    yield made
    made.stop()


def as_sent(cluster, mark, kind):
    """What was sent since `mark`, as the bytes of the version that was sent."""
    return sorted(
        ((to, encoded(request)) for to, request in requests_since(cluster, mark, kind)), key=lambda entry: entry
    )


def encoded(request):
    (api,) = [api for api in API_TABLE.values() if f"{api.name}Request" == type(request).__name__]
    return api.request.encode(request, api.request.max_version)


def expected(*numbers):
    return sorted((broker, encoded(request)) for broker, request in captured(*numbers))


def test_topic_creation_sends_the_bytes_that_apache_sends(captured_cluster):
    cluster = captured_cluster
    assert (1, encoded(captured(1)[0][1])) in as_sent(cluster, 0, UpdateMetadataRequest)
    mark = len(cluster.sent)
    cluster.create_topic("wire-del", {0: [2, 1]}, uuid_from_base64("nN6TyRUfRAGESzNq1XMLxg"))
    cluster.settle()
    assert as_sent(cluster, mark, LeaderAndIsrRequest) == expected(6, 7)
    assert as_sent(cluster, mark, UpdateMetadataRequest) == expected(8, 14)


def test_topic_deletion_sends_the_bytes_that_apache_sends(captured_cluster):
    cluster = captured_cluster
    cluster.create_topic("wire-del", {0: [2, 1]}, uuid_from_base64("nN6TyRUfRAGESzNq1XMLxg"))
    cluster.settle()
    mark = len(cluster.sent)
    cluster.delete_topic("wire-del")
    cluster.settle()
    assert as_sent(cluster, mark, StopReplicaRequest) == expected(658, 659, 660, 662)


def test_a_reassignment_stops_the_old_replica_with_the_bytes_that_apache_sends(captured_cluster):
    cluster = captured_cluster
    cluster.create_topic("wire-b", {0: [1, 2], 1: [2, 1]}, uuid_from_base64("7x-xZAOwSHai5mn9JM2tZg"))
    cluster.settle()
    mark = len(cluster.sent)
    start_move(cluster, (1,), tp("wire-b", 1))
    assert as_sent(cluster, mark, StopReplicaRequest) == expected(636, 641)
