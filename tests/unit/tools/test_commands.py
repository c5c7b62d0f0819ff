"""A command is one row: its script, its entry point and its line in the list say the same."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path

import pytest

from kafka_zk.tools.commands import COMMANDS, IN_README, Command, list_of_commands, script_of, written

PROJECT = Path(__file__).parents[3]
NO_COMMANDS = {"kafka-run.sh"}
"""Through which the others go."""


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_has_its_script_and_its_entry_point(command: Command) -> None:
    assert (PROJECT / "scripts" / f"{command.name}.sh").read_text() == script_of(command)
    module, _, name = command.entry_point.partition(":")
    assert callable(getattr(importlib.import_module(module), name))
    runnable = importlib.util.find_spec(f"kafka_zk.tools.{command.runnable}")
    assert runnable is not None
    assert runnable.submodule_search_locations is None or importlib.util.find_spec(f"{runnable.name}.__main__")


def test_what_is_installed_are_the_commands() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert list(project["scripts"].items()) == [(each.name, each.entry_point) for each in COMMANDS]


def test_each_script_of_that_kind_is_a_command() -> None:
    folder = PROJECT / "scripts"
    scripts = {path.name for path in (*folder.glob("kafka-*.sh"), *folder.glob("zookeeper-*.sh"))}
    assert scripts - NO_COMMANDS == {f"{command.name}.sh" for command in COMMANDS}


def test_the_list_shows_them() -> None:
    text = (PROJECT / "kafka_zk" / "tools" / "README.md").read_text()
    assert written(text, IN_README, list_of_commands()) == text
