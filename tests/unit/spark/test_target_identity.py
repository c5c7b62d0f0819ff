"""A checkpoint goes on in the cluster and the topic that it has written to, and in no others of their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_zk.spark.jobs import mirror, target_identity
from kafka_zk.spark.jobs.outcome import JobError
from kafka_zk.spark.jobs.target_identity import NOTE, TargetIdentity, claim_target, decode
from kafka_zk.spark.jobs.transform import claim_topic
from kafka_zk.spark.settings.declaration import Settings
from kafka_zk.spark.settings.jobs import TRANSFORM
from tests.unit.spark.copied_topic import State

TARGET = {"bootstrap.servers": "b:1"}


class Checkpoint(State):
    root = "state"
    batches: tuple[str, ...] = ()

    def names(self, folder: str = "") -> list[str]:
        return list(self.batches) if folder else super().names()

    def write(self, name: str, text: str) -> None:
        self[name] = text


class Cluster:
    """What admin clients hear: one cluster at a time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cluster_id = "A"
        self.ids = {"t": "1"}
        self.waited_for: list[str] = []
        monkeypatch.setattr(target_identity, "cluster_id", lambda _: self.cluster_id)
        monkeypatch.setattr(target_identity, "topic_ids", self._topic_ids)

    def _topic_ids(self, _: object, topics: Any, *, known: Mapping[str, str]) -> dict[str, str]:
        self.waited_for += known
        return {topic: self.ids[topic] for topic in topics if topic in self.ids}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return Cluster(monkeypatch)


@pytest.fixture
def state() -> Any:
    return Checkpoint()


def test_a_run_goes_on_in_the_same_topic(cluster: Cluster, state: Any) -> None:
    claim_target(state, TARGET, ["t"], has_begun=False)
    claim_target(state, TARGET, ["t"], has_begun=True)
    assert decode(state[NOTE]) == TargetIdentity("A", {"t": "1"})
    assert cluster.waited_for == ["t"], "a broker that has just started may not have heard of it"


def test_another_cluster_is_refused_though_it_has_a_topic_of_the_name(cluster: Cluster, state: Any) -> None:
    claim_target(state, TARGET, ["t"], has_begun=True)
    cluster.cluster_id = "B"
    with pytest.raises(
        JobError, match="state has written to the cluster A, and b:1 is the cluster B, which lacks that"
    ):
        claim_target(state, TARGET, ["t"], has_begun=True)


def test_a_topic_that_was_made_anew_or_deleted_is_refused(cluster: Cluster, state: Any) -> None:
    claim_target(state, TARGET, ["t"], has_begun=True)
    cluster.ids = {"t": "2"}
    for _ in range(2):
        with pytest.raises(JobError, match="topic t of the target was deleted and created again since this job began"):
            claim_target(state, TARGET, ["t"], has_begun=True)
    cluster.ids = {}
    with pytest.raises(JobError, match=r"topic t of the target, where .* has written to, is not there"):
        claim_target(state, TARGET, ["t"], has_begun=True)


def test_a_run_that_wrote_nothing_binds_to_nothing(cluster: Cluster, state: Any) -> None:
    claim_target(state, TARGET, ["t"], has_begun=False)
    cluster.cluster_id, cluster.ids = "B", {"t": "2"}
    claim_target(state, TARGET, ["t"], has_begun=False)
    claim_target(state, TARGET, ["t"], has_begun=True)
    assert decode(state[NOTE]) == TargetIdentity("B", {"t": "2"})


def test_a_checkpoint_of_before_goes_on_and_remembers(cluster: Cluster, state: Any) -> None:
    """It has begun, and has no note."""
    claim_target(state, TARGET, ["t"], has_begun=True)
    cluster.ids = {"t": "2"}
    with pytest.raises(JobError, match="created again"):
        claim_target(state, TARGET, ["t"], has_begun=True)


def test_a_topic_that_brokers_create_is_remembered_once_it_is_there(cluster: Cluster, state: Any) -> None:
    cluster.ids = {}
    claim_target(state, TARGET, ["t"], has_begun=False)
    cluster.ids = {"t": "1"}
    claim_target(state, TARGET, ["t"], has_begun=True)
    cluster.ids = {"t": "2"}
    with pytest.raises(JobError, match="created again"):
        claim_target(state, TARGET, ["t"], has_begun=True)


def test_a_cluster_without_ids_of_topics_is_known_by_its_own(cluster: Cluster, state: Any) -> None:
    cluster.ids = {}
    for _ in range(2):
        claim_target(state, TARGET, ["t"], has_begun=True)
    cluster.cluster_id = "B"
    with pytest.raises(JobError, match="is the cluster B"):
        claim_target(state, TARGET, ["t"], has_begun=True)


def test_a_transform_binds_to_its_topic_with_its_first_batch(cluster: Cluster, state: Any) -> None:
    given = {"bootstrap-server": "b:1", "topics": "s", "sql": "SELECT value FROM records", "to-topic": "t"}
    settings = Settings(TRANSFORM, given)
    claim_topic(state, settings)
    cluster.ids = {"t": "2"}
    claim_topic(state, settings)
    state.batches = ("0",)
    claim_topic(state, settings)
    cluster.ids = {"t": "3"}
    with pytest.raises(JobError, match="topic t of the target was deleted and created again"):
        claim_topic(state, settings)


def test_a_mirror_binds_to_its_cluster_with_its_first_batch(cluster: Cluster, state: Any) -> None:
    """Before it creates topics there: of another cluster it would say that they were made anew."""
    mirror.claim_cluster(state, TARGET)
    cluster.cluster_id = "B"
    mirror.claim_cluster(state, TARGET)
    state["batch-0.note-1"] = "{}"
    mirror.claim_cluster(state, TARGET)
    cluster.cluster_id = "A"
    with pytest.raises(JobError, match="state has written to the cluster B, and b:1 is the cluster A"):
        mirror.claim_cluster(state, TARGET)
