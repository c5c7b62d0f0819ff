"""Which destinations a transform refuses: what its checkpoint did not begin with, and what it reads itself."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_zk.spark.jobs import destination
from kafka_zk.spark.jobs.destination import NOTE, claim_destination, destination_of, refuse_own_source
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


TOPIC, TABLE, OTHER_TABLE, DIRECTORY = (
    destination_of(*names) for names in (("a", ""), ("", "a"), ("", "db.a"), ("", ""))
)


@pytest.mark.parametrize(
    ("first", "then"),
    [(TABLE, OTHER_TABLE), (DIRECTORY, TABLE), (TABLE, DIRECTORY), (TABLE, TOPIC), (TOPIC, DIRECTORY)],
)
def test_a_table_or_directory_that_is_new_is_another_destination(first: str, then: str) -> None:
    """It is not there yet, so nothing in it shows that what came before is missing."""
    state: Any = Checkpoint()
    claim_destination(state, first)
    state.begun = ("0",)
    with pytest.raises(JobError, match=f"state belongs to a transform to {first}, and {then} would miss"):
        claim_destination(state, then)
    claim_destination(state, first)


def test_the_name_of_a_table_has_no_case() -> None:
    assert destination_of("", "Db.A") == destination_of("", "db.a")


@pytest.mark.parametrize("destination", [TABLE, DIRECTORY])
def test_what_an_earlier_version_noted_of_files_and_tables_goes_on(destination: str) -> None:
    state: Any = Checkpoint()
    state.write(NOTE, "files")
    state.begun = ("0",)
    with pytest.raises(JobError):
        claim_destination(state, TOPIC)
    claim_destination(state, destination)
    with pytest.raises(JobError):
        claim_destination(state, OTHER_TABLE)


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
