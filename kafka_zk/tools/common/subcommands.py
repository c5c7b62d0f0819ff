"""Programs with subcommands, as argparse4j parses them.

Role        Pure but for what it prints.
Invariants  A command's name may be abbreviated if that is unambiguous. Missing options are reported
            after all arguments were read, those of the program before those of the command.
Source      argparse4j 0.7.0: SubparsersImpl.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from kafka_zk.tools.common.argparse4j import ArgumentError, ArgumentParser, HelpAsked, nearest_names


def choose_command(
    program: ArgumentParser, commands: Mapping[str, ArgumentParser], words: Sequence[str]
) -> tuple[str, dict[str, Any]] | int:
    """The command and the values of both kinds of options; or the exit code, once help or an error is printed.

    Raises VersionAsked.
    """
    parser = program
    try:
        run = program.read_options(words)
        word = run.word()
        if word is None:
            raise ArgumentError("too few arguments")
        if run.options_are_over:
            raise run.unrecognized()
        name = _command_of(word, commands)
        parser = commands[name]
        of_command = parser.read_all(words[run.index + 1 :])
        for parser, each in ((program, run), (commands[name], of_command)):
            parser.check_required(each)
        return name, {**run.values, **of_command.values}
    except HelpAsked:
        print(parser.help(), end="")
    except ArgumentError as error:
        print(parser.refusal(error), end="", file=sys.stderr)
    return 1


def _command_of(word: str, commands: Mapping[str, ArgumentParser]) -> str:
    if word in commands:
        return word
    found = sorted(name for name in commands if word and name.startswith(word))
    if len(found) > 1:
        raise ArgumentError(f"ambiguous command: {word} could match {', '.join(found)}")
    if not found:
        choices = ", ".join(f"'{name}'" for name in commands)
        raise ArgumentError(f"invalid choice: '{word}' (choose from {choices})", nearest_names(word, commands))
    return found[0]
