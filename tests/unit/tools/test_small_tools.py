"""What the tools that look at brokers print of cases that no healthy cluster shows."""

from __future__ import annotations

import json

import pytest

from kafka_zk.client.admin.features import FeatureMetadata, VersionRange
from kafka_zk.client.admin.log_dirs import LogDirDescription, ReplicaInfo
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.protocol.messages.api_versions import ApiVersion
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.broker_api_versions.__main__ import versions_text
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.e2e_latency.__main__ import fault_of, percentiles_text
from kafka_zk.tools.features.__main__ import features_text, outcome_text
from kafka_zk.tools.log_dirs.__main__ import as_json

MS = 1_000_000


def test_versions_tell_what_a_client_of_3_9_can_use_of_an_older_or_newer_broker() -> None:
    known = [(0, 3, 12), (1, 18, 20), (18, 0, 3), (55, 0, 2), (200, 1, 1)]
    text = versions_text([ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in known])
    lines = [line.strip("\t,") for line in text.splitlines()]
    assert lines[1:4] == [
        "Produce(0): 3 to 12 [usable: 11]",
        "Fetch(1): 18 to 20 [unusable: node too new]",
        "ListOffsets(2): UNSUPPORTED",
    ]
    assert "ApiVersions(18): 0 to 3 [usable: 3]" in lines
    assert lines[-2:] == ["UNKNOWN(200): 1", ")"]


def test_a_failed_directory_is_shown_by_the_class_of_its_error() -> None:
    failed = LogDirDescription(KafkaStorageError(), {}, None, None)
    assert json.loads(as_json({1: {"/d": failed}}, ()))["brokers"] == [
        {
            "broker": 1,
            "logDirs": [
                {"partitions": [], "error": "org.apache.kafka.common.errors.KafkaStorageException", "logDir": "/d"}
            ],
        }
    ]


def test_only_the_topics_asked_for_are_shown_and_a_moved_replica_as_such() -> None:
    replicas = {TopicPartition("t", 1): ReplicaInfo(10, 3, True), TopicPartition("u", 0): ReplicaInfo(1, 0, False)}
    text = as_json({0: {"/d": LogDirDescription(None, replicas, 5, 4)}}, {"t"})
    assert '[{"partition":"t-1","size":10,"offsetLag":3,"isFuture":true}],"error":null,"logDir":"/d"' in text


@pytest.mark.parametrize(
    ("read", "fault"),
    [
        ([b"AB"], None),
        ([], "poll() timed out before finding a result (timeout:[60000ms])"),
        ([b"XY"], "The message read [XY] did not match the message sent [AB]"),
        ([None], "The message read [] did not match the message sent [AB]"),
        ([b"AB", b"AB"], "Only one result was expected during this test. We found [2]"),
    ],
)
def test_what_comes_back_must_be_the_one_record_that_was_sent(read: list[bytes | None], fault: str | None) -> None:
    assert fault_of(read, b"AB") == fault


def test_percentiles_are_whole_milliseconds_rounded_down() -> None:
    latencies = [*range(0, 99 * MS, MS), 2 * MS - 1]
    assert percentiles_text(latencies) == "Percentiles: 50th = 49, 99th = 98, 99.9th = 98"
    with pytest.raises(JavaError, match="Index 0 out of bounds for length 0"):
        percentiles_text([])


def test_features_of_a_cluster_that_has_some_are_shown_by_name_with_their_levels() -> None:
    supported = {"metadata.version": VersionRange(1, 21), "kraft.version": VersionRange(0, 1)}
    found = FeatureMetadata(supported, {"metadata.version": VersionRange(20, 20)}, 53)
    unsettled = FeatureMetadata({"metadata.version": VersionRange(1, 99)}, {}, None)
    columns = "Feature: {}\tSupportedMinVersion: {}\tSupportedMaxVersion: {}\tFinalizedVersionLevel: {}\tEpoch: {}\n"
    assert features_text(found) == columns.format("kraft.version", 0, 1, 0, 53) + columns.format(
        "metadata.version", "3.0-IV1", "3.9-IV0", "3.8-IV0", 53
    )
    assert features_text(unsettled) == columns.format("metadata.version", "3.0-IV1", "UNKNOWN 99", "UNKNOWN 0", "-")


@pytest.mark.parametrize(
    ("command", "dry_run", "line"),
    [
        ("upgrade", False, "f was upgraded to 3."),
        ("downgrade", True, "f can be downgraded to 3."),
        ("disable", False, "f was disabled."),
    ],
)
def test_a_change_of_a_feature_that_succeeds_is_told(command: str, dry_run: bool, line: str) -> None:
    assert outcome_text(command, "f", 3, None, dry_run=dry_run) == line
