"""What a mirror notes of its source and its offsets-path, and whom it refuses."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_zk.spark.cli.arguments import Run, parse
from kafka_zk.spark.jobs import mirror
from kafka_zk.spark.jobs.outcome import JobError
from kafka_zk.spark.jobs.reading import source_options
from kafka_zk.spark.jobs.sole_run import sole_run
from kafka_zk.spark.settings.declaration import Settings
from kafka_zk.spark.settings.jobs import MIRROR
from tests.unit.spark.copied_topic import State
from tests.unit.spark.local_store import LocalStore


class Folder(State):
    """As far as a mirror looks at a FileStore."""

    root = "offsets"

    def data_files(self) -> Iterable[str]:
        return [name for name in self if not name.startswith("_")]


def claim(state: Any, table: Any) -> None:
    mirror.claim_offsets_path(state, table)


def test_the_folder_of_offsets_belongs_to_one_checkpoint() -> None:
    state, table = Folder(), Folder()
    for _ in range(2):
        claim(state, table)
    with pytest.raises(JobError, match="offsets holds the offsets of a mirror with another checkpoint"):
        claim(Folder(), table)
    with pytest.raises(JobError, match="offsets holds the offsets of a mirror with another checkpoint"):
        claim(Folder(_mirror="other"), table)


def test_a_folder_of_offsets_that_nobody_claimed_belongs_to_who_had_begun() -> None:
    with pytest.raises(JobError, match="offsets holds the offsets of a mirror with another checkpoint"):
        claim(Folder(), Folder({"batch=0": ""}))
    claim(Folder({"batch-0.base": "[]"}), Folder({"batch=0": ""}))


def test_a_checkpoint_may_be_inside_the_folder_of_offsets(tmp_path: Path) -> None:
    """Which is there then, with a lock in the checkpoint, before anything is noted."""
    for _ in range(2):
        with sole_run(tmp_path / "offsets" / "_checkpoint"):
            claim(LocalStore(tmp_path / "offsets" / "_checkpoint" / "mirrored"), LocalStore(tmp_path / "offsets"))


def test_a_claim_that_was_cut_off_between_its_two_notes_goes_on() -> None:
    state = Folder()
    claim(state, Folder())
    claim(state, Folder())


def test_two_runs_that_begin_in_the_same_moment_have_one_name() -> None:
    """It is their transactional.id: under two names neither would fence the other, and batches come twice."""
    state, table = Folder(), Folder()
    seen: list[str | None] = []

    def other_run() -> None:
        state.on_write = lambda: None
        claim(state, table)
        seen.append(state["_mirror"])

    state.on_write = other_run
    claim(state, table)
    assert seen == [state["_mirror"]] == [table["_mirror"]]


def test_of_two_mirrors_that_take_one_folder_of_offsets_in_the_same_moment_one_is_refused() -> None:
    table = Folder()

    def other_mirror() -> None:
        table.on_write = lambda: None
        claim(Folder(), table)

    table.on_write = other_mirror
    with pytest.raises(JobError, match="was just taken by a mirror with another checkpoint"):
        claim(Folder(), table)


@pytest.mark.parametrize("rename", [{}, {"a": "b"}, {"a": "b", "b": "a"}])
def test_a_mirror_onto_itself_is_refused_before_anything_is_noted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rename: dict[str, str]
) -> None:
    """It would copy its copies, in each run and without an end."""
    monkeypatch.setattr(mirror, "FileStore", lambda _, path: SimpleNamespace(folder=Path(path)))
    monkeypatch.chdir(tmp_path)
    given = {"bootstrap-server": "b:1", "target-bootstrap-server": "b:1", "topics": "a,b", "rename": rename}
    session: Any = None
    settings = Settings(MIRROR, {**given, "checkpoint": "state", "offsets-path": "offsets"})
    with pytest.raises(JobError, match=r"topic [ab] is also a source of this job"):
        mirror.run(session, settings)
    assert not (tmp_path / "offsets").exists()


def test_a_target_topic_that_was_made_anew_between_two_batches_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = {"t": "1"}
    monkeypatch.setattr(mirror, "topic_ids", lambda *_: ids)
    state: Any = State()
    mirror.check_source(state, {}, {"t"})
    ids["t"] = "7"
    for _ in range(2):
        mirror.check_target(state, {}, {"t"})
    ids["t"] = "8"
    with pytest.raises(JobError, match="topic t of the target was deleted and created again"):
        mirror.check_target(state, {}, {"t"})


def test_a_source_topic_that_was_made_anew_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = {"t": "1"}
    monkeypatch.setattr(mirror, "topic_ids", lambda *_: ids)
    state: Any = State()
    for _ in range(2):
        mirror.check_source(state, {}, {"t"})
    ids["t"] = "2"
    with pytest.raises(JobError, match="topic t of the source was deleted and created again"):
        mirror.check_source(state, {}, {"t"})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, None),
        ({"transactional": True}, "true"),
        ({"transactional": True, "whole-transactions": False}, "false"),
        ({"whole-transactions": True}, "true"),
    ],
)
def test_a_mirror_in_transactions_cuts_none_of_the_source_unless_told_to(
    given: dict[str, object], expected: str | None
) -> None:
    needed = {"bootstrap-server": "b:1", "target-bootstrap-server": "c:1", "topics": "a", "offsets-path": "offsets"}
    settings = Settings(MIRROR, {**needed, **given})
    if settings.flag("transactional"):
        settings = mirror.in_transactions(settings)
        assert settings.mapping("kafka") == {"isolation.level": "read_committed"}
    assert source_options(settings).get("wholeTransactions") == expected


def test_a_mirror_can_be_told_to_cut_transactions_on_the_command_line() -> None:
    needed = ("--bootstrap-server", "b:1", "--target-bootstrap-server", "c:1", "--topics", "a", "--offsets-path", "o")
    for words, expected in (((), None), (("--whole-transactions",), True), (("--no-whole-transactions",), False)):
        parsed = parse(["mirror", *needed, *words])
        assert isinstance(parsed, Run)
        found = parsed.settings.flag("whole-transactions") if parsed.settings.has("whole-transactions") else None
        assert found == expected
