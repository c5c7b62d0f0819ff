"""What becomes of a streaming job whose group cannot be committed: it is for lag tools, and the job needs it not."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_zk.client.errors import KafkaException, TimeoutException
from kafka_zk.protocol.errors import BrokerError, UnknownMemberId
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs import cluster
from kafka_zk.spark.jobs.group_offsets import committer
from kafka_zk.spark.jobs.outcome import JobError
from kafka_zk.spark.jobs.streams import run_to_end
from kafka_zk.spark.settings.declaration import Settings
from kafka_zk.spark.settings.jobs import JOBS

SETTINGS = Settings(JOBS["archive"], {"bootstrap-server": "b:1", "topics": ["t"], "path": "a", "group": "g"})
T0 = TopicPartition("t", 0)


class Admin:
    """Takes commits but the first, which it refuses."""

    def __init__(self, refusal: Exception) -> None:
        self.refusals = [refusal]
        self.committed: list[int] = []

    def __call__(self, _: object) -> Admin:
        return self

    def __enter__(self) -> Admin:
        return self

    def __exit__(self, *_: object) -> None: ...

    def alter_consumer_group_offsets(self, group: str, offsets: dict[TopicPartition, int]) -> None:
        if self.refusals:
            raise self.refusals.pop()
        self.committed.append(offsets[T0])


def query(batches: int) -> Any:
    """One that is done, and reports so many batches of ten records."""
    reports = [
        SimpleNamespace(
            json=json.dumps(
                {"batchId": number, "numInputRows": 10, "sources": [{"endOffset": {"t": {"0": 10 * (number + 1)}}}]}
            )
        )
        for number in range(batches)
    ]
    return SimpleNamespace(awaitTermination=lambda _: True, recentProgress=reports)


@pytest.mark.parametrize("refusal", [UnknownMemberId(), TimeoutException("no coordinator")])
def test_a_stream_goes_on_where_its_group_cannot_be_committed(
    refusal: BrokerError | KafkaException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    admin = Admin(refusal)
    monkeypatch.setattr(cluster, "AdminClient", admin)
    progress = run_to_end(lambda: query(3), "archive", committer(SETTINGS))
    assert (progress.batches, progress.records) == (3, 30)
    assert admin.committed == [20, 30]
    assert f"could not commit offsets for group g: {refusal}" in capsys.readouterr().err


def test_a_group_that_is_to_be_carried_over_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "AdminClient", Admin(TimeoutException("no coordinator")))
    with pytest.raises(JobError, match="could not commit offsets for group g: no coordinator"):
        cluster.commit_offsets({}, "g", {T0: 1})
