"""What jobs ask a cluster whose broker has just started: it knows neither topics nor leaders for a while."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from uuid import UUID

import pytest

from kafka_zk.client.admin.admin_results import TopicDescription, TopicListing
from kafka_zk.protocol.errors import BrokerError, ErrorCode, error_class_for
from kafka_zk.spark.jobs import cluster

ID = UUID(int=7)


class Admin:
    """Stands where AdminClient stands: what each look finds, the last one again and again; a code is an error."""

    def __init__(self, *looks: Sequence[str] | ErrorCode) -> None:
        self.looks = list(looks)
        self.now: Sequence[str] | ErrorCode = ()

    def __call__(self, _: object) -> Admin:
        return self

    def __enter__(self) -> Admin:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def list_topics(self, **_: object) -> list[TopicListing]:
        self.now = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        names = ["t"] if isinstance(self.now, ErrorCode) else self.now
        return [TopicListing(name, ID, False) for name in names]

    def describe_topics(self, names: Sequence[str]) -> dict[str, TopicDescription]:
        if isinstance(self.now, ErrorCode):
            raise error_class_for(self.now)()
        return {name: TopicDescription(name, ID, False, ()) for name in names}


def found(monkeypatch: pytest.MonkeyPatch, admin: Admin, timeout_ms: int, *known: str) -> dict[str, int]:
    clock = iter(range(1000))
    monkeypatch.setattr(cluster, "AdminClient", admin)
    stands = SimpleNamespace(sleep=lambda _: None, monotonic=lambda: next(clock))
    monkeypatch.setattr(cluster, "time", stands)
    return cluster.partition_counts({"request.timeout.ms": str(timeout_ms)}, ["t"], known=known)


def test_leaders_that_are_not_known_yet_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Admin(ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ["t"])
    assert found(monkeypatch, looks, 30_000) == {"t": 0}


def test_a_topic_that_must_be_there_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, Admin([], [], ["t"]), 30_000, "t") == {"t": 0}


def test_it_is_not_waited_for_longer_than_a_request_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, Admin([]), 5_000, "t") == {}
    with pytest.raises(BrokerError):
        found(monkeypatch, Admin(ErrorCode.LEADER_NOT_AVAILABLE), 5_000)


def test_other_errors_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BrokerError):
        found(monkeypatch, Admin(ErrorCode.TOPIC_AUTHORIZATION_FAILED, ["t"]), 30_000)


@pytest.mark.parametrize(
    ("needed", "sentence"),
    [
        ({"new": 1}, "topic new does not exist; create it with 1 partition, or set create-topics"),
        ({"new": 2}, "topic new does not exist; create it with 2 partitions, or set create-topics"),
        ({"t": 3}, "topic t has 1 partition, but 3 are needed"),
    ],
)
def test_a_topic_that_is_missing_or_small_is_told_with_its_partitions(
    monkeypatch: pytest.MonkeyPatch, needed: dict[str, int], sentence: str
) -> None:
    monkeypatch.setattr(cluster, "partition_counts", lambda *_: {"t": 1})
    with pytest.raises(cluster.JobError, match=sentence):
        cluster.ensure_topics({}, needed, None)
