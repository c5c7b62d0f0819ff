"""Which destinations a transform refuses: what its checkpoint did not begin with, and what it reads itself."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_zk.spark.jobs import destination
from kafka_zk.spark.jobs.destination import claim_destination, refuse_own_source
from kafka_zk.spark.jobs.outcome import JobError
from kafka_zk.spark.sources.subscription import Subscription
from tests.unit.spark.copied_topic import State


class Checkpoint(State):
    root = "state"
    begun: tuple[str, ...] = ()

    def names(self, _: str = "") -> list[str]:
        return list(self.begun)

    def write(self, name: str, text: str) -> None:
        self[name] = text


def test_a_checkpoint_that_has_begun_goes_on_at_its_destination_only() -> None:
    state: Any = Checkpoint()
    claim_destination(state, "topic a")
    state.begun = ("0",)
    claim_destination(state, "topic a")
    for other in ("topic b", "files"):
        with pytest.raises(JobError, match=f"state belongs to a transform to topic a, and {other} would miss"):
            claim_destination(state, other)


def test_a_mistyped_destination_of_a_run_that_began_nothing_can_be_corrected() -> None:
    state: Any = Checkpoint()
    for topic in ("topic tpyo", "topic typo"):
        claim_destination(state, topic)
    state.begun = ("0",)
    claim_destination(state, "topic typo")


def test_a_checkpoint_of_an_earlier_version_is_noted() -> None:
    state: Any = Checkpoint()
    state.begun = ("0",)
    claim_destination(state, "topic a")
    with pytest.raises(JobError):
        claim_destination(state, "topic b")


@pytest.mark.parametrize("read", [Subscription(topics=("a", "b")), Subscription(pattern="[ab]")])
def test_a_topic_that_is_read_is_not_written_in_the_same_cluster(
    monkeypatch: pytest.MonkeyPatch, read: Subscription
) -> None:
    monkeypatch.setattr(destination, "is_one_cluster", lambda source, target: source == target)
    here, there = {"bootstrap.servers": "here:1"}, {"bootstrap.servers": "there:1"}
    with pytest.raises(JobError, match="topic b is also a source of this job"):
        refuse_own_source(read, here, here, "c", "b")
    refuse_own_source(read, here, here, "c")
    refuse_own_source(read, here, there, "b")
