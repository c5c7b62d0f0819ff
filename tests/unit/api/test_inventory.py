"""DescribeLogDirs, DescribeProducers and what is listed only to be refused: the cases that no healthy broker shows."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_zk.api.admin.describe_log_dirs import describe_log_dirs
from kafka_zk.api.admin.describe_producers import describe_producers
from kafka_zk.api.admin.update_features import update_features
from kafka_zk.protocol.errors import ClusterAuthorizationFailed, ErrorCode, NotLeaderOrFollower, message_of
from kafka_zk.protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from kafka_zk.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafka_zk.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from kafka_zk.protocol.types import TopicPartition


def log(topic: str, index: int, *, end: int, high_watermark: int = 0, is_future: bool = False) -> Any:
    return SimpleNamespace(
        topic_partition=TopicPartition(topic, index),
        size_bytes=end * 100,
        log_end_offset=end,
        high_watermark=high_watermark,
        is_future=is_future,
        active_producers=list,
    )


class Directory:
    def __init__(self, path: str, *, is_offline: bool = False, error: OSError | None = None) -> None:
        self.path = Path(path)
        self.is_offline = is_offline
        self._error = error

    def room(self) -> tuple[int, int]:
        if self._error is not None:
            raise self._error
        return 1000, 10


class Hosted:
    """The partitions whose logs are `served`."""

    def __init__(self, *served: Any) -> None:
        self._served = {each.topic_partition: each for each in served}

    def find(self, topic: str, index: int) -> Any:
        found = self._served.get(TopicPartition(topic, index))
        return None if found is None else SimpleNamespace(log=found)

    def get(self, topic: str, index: int) -> Any:
        found = self.find(topic, index)
        if found is None:
            raise NotLeaderOrFollower("not here")
        return found


def context(
    directories: list[tuple[Directory, list[Any]]] | None = None,
    hosted: Hosted | None = None,
    *,
    may: bool = True,
    is_controller: bool = True,
    version: int = 0,
) -> Any:
    return SimpleNamespace(
        services=SimpleNamespace(
            log_manager=SimpleNamespace(logs_by_directory=lambda: directories or []),
            replica_manager=SimpleNamespace(hosted=hosted or Hosted()),
            metadata_cache=SimpleNamespace(topic=lambda name: object()),
            controller=SimpleNamespace(is_active=is_controller),
        ),
        may=lambda operation, resource_type, name: may,
        api_version=version,
    )


def described(ctx: Any, topics: list[DescribableLogDirTopic] | None = None) -> dict[str, tuple[str, list[Any]]]:
    """Code and (topic, partition, lag, is future) by directory."""
    return {
        result.log_dir: (
            ErrorCode(result.error_code).name,
            [
                (topic.name, each.partition_index, each.offset_lag, each.is_future_key)
                for topic in result.topics
                for each in topic.partitions
            ],
        )
        for result in describe_log_dirs(DescribeLogDirsRequest(topics=topics), ctx).results
    }


def test_a_failed_directory_has_a_code_and_the_others_what_is_in_them() -> None:
    served = log("t", 0, end=5, high_watermark=5)
    directories = [
        (Directory("/offline", is_offline=True), []),
        (Directory("/broken", error=OSError(errno.EIO, "broken")), [log("x", 0, end=1)]),
        (Directory("/good"), [served]),
    ]
    assert described(context(directories, Hosted(served))) == {
        "/offline": ("KAFKA_STORAGE_ERROR", []),
        "/broken": ("UNKNOWN_SERVER_ERROR", []),
        "/good": ("NONE", [("t", 0, 0, False)]),
    }


def test_the_lag_is_what_a_copy_lacks() -> None:
    behind, moved = log("behind", 0, end=3, high_watermark=7), log("moved", 1, end=9, high_watermark=9)
    logs = [behind, moved, log("moved", 1, end=4, is_future=True), log("stray", 2, end=1)]
    assert described(context([(Directory("/d"), logs)], Hosted(behind, moved))) == {
        "/d": (
            "NONE",
            [("behind", 0, 4, False), ("moved", 1, 0, False), ("moved", 1, 5, True), ("stray", 2, -1, False)],
        )
    }


def test_only_the_partitions_asked_for_are_described() -> None:
    logs = [log("t", 0, end=1), log("t", 1, end=1), log("u", 0, end=1)]
    ctx = context([(Directory("/d"), logs)], Hosted(*logs))
    asked = [DescribableLogDirTopic(topic="t", partitions=[1, 7]), DescribableLogDirTopic(topic="u", partitions=[])]
    assert described(ctx, asked) == {"/d": ("NONE", [("t", 1, 0, False)])}


def test_directories_are_shown_to_nobody_who_may_not_describe_the_cluster() -> None:
    with pytest.raises(ClusterAuthorizationFailed):
        described(context([(Directory("/d"), [])], may=False))


def test_what_is_wrong_with_a_topic_is_told_in_words_what_is_wrong_with_a_partition_is_not() -> None:
    def outcome(name: str, *, may: bool = True) -> list[tuple[str, str | None]]:
        request = DescribeProducersRequest(topics=[TopicRequest(name=name, partition_indexes=[0, 1])])
        answer = describe_producers(request, context(hosted=Hosted(log("t", 0, end=1)), may=may))
        return [(ErrorCode(each.error_code).name, each.error_message) for each in answer.topics[0].partitions]

    assert outcome("t") == [("NONE", None), ("NOT_LEADER_OR_FOLLOWER", None)]
    assert outcome("t", may=False) == [("TOPIC_AUTHORIZATION_FAILED", "Topic authorization failed.")] * 2
    assert [code for code, _ in outcome("no/where")] == ["INVALID_TOPIC_EXCEPTION"] * 2


@pytest.mark.parametrize(
    ("ctx", "code"),
    [
        (context(is_controller=False), ErrorCode.NOT_CONTROLLER),
        (context(may=False, is_controller=False), ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
    ],
)
def test_features_are_for_the_controller_and_for_those_who_may(ctx: Any, code: ErrorCode) -> None:
    update = FeatureUpdateKey(feature="x", max_version_level=1)
    answer = update_features(UpdateFeaturesRequest(feature_updates=[update]), ctx)
    assert (answer.error_code, answer.error_message, answer.results) == (code, message_of(code), [])
