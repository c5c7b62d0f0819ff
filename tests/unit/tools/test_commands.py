"""A command is one row: its script, its entry point and its line in the list say the same."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path

import pytest

from kafka_zk.tools.commands import COMMANDS, IN_README, Command, list_of_commands, script_of, written

PROJECT = Path(__file__).parents[3]
TOOLS = PROJECT / "kafka_zk" / "tools"
NO_COMMANDS = {"kafka-run.sh"}
"""Through which the others go."""


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_has_its_script_and_its_entry_point(command: Command) -> None:
    assert (PROJECT / "scripts" / f"{command.name}.sh").read_text() == script_of(command)
    module, _, name = command.entry_point.partition(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_what_is_installed_are_the_commands() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert list(project["scripts"].items()) == [(each.name, each.entry_point) for each in COMMANDS]


def test_each_script_of_that_kind_is_a_command() -> None:
    folder = PROJECT / "scripts"
    scripts = {path.name for path in (*folder.glob("kafka-*.sh"), *folder.glob("zookeeper-*.sh"))}
    assert scripts - NO_COMMANDS == {f"{command.name}.sh" for command in COMMANDS}


def test_each_package_is_a_command_but_for_what_they_share() -> None:
    packages = {path.parent.name for path in TOOLS.glob("*/__init__.py")}
    assert packages - {"common"} == {command.package for command in COMMANDS}
    assert {path.name for path in TOOLS.glob("*.py")} == {"__init__.py", "commands.py"}


def test_the_list_shows_them() -> None:
    text = (TOOLS / "README.md").read_text()
    assert written(text, IN_README, list_of_commands()) == text
