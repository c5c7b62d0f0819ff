"""Command-line options as Apache's argparse4j programs parse them, and their error messages.

Role        Pure. A tool declares its options and has its help as a data file; the usage is the file's first paragraph.
Invariants  `--opt value` and `--opt=value` mean the same, unambiguous beginnings of names are accepted, the last of
            several values counts (but of Kind.EACH all of them). A value may not look like an option, but may be a
            negative number.
            Of several missing options the last declared one is named, as there.
Source      argparse4j 0.7.0: ArgumentParserImpl, TextHelper.wrap, and its suggestions of similar names.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from kafka_zk.tools.common.java_values import java_integer, java_long, java_short, parse_double
from kafka_zk.tools.common.options import VersionAsked, usage_of

WIDTH = 75
_NEGATIVE_NUMBER = re.compile(r"-\d+")
# Where Java's line iterator may begin a new line: after blanks and hyphens, and before an opening bracket.
_LINE_PARTS = re.compile(r" +|[^ ]*?-+(?=[^\W\d_])|[^ ]*?-+(?= )|[^ (-]+(?=\()|[^ ]+?(?= )|[^ ]+")
_FAR = 7
"""Names at least this far from what was typed are not suggested."""


class Kind(Enum):
    """How many words an option takes; EACH: one each time it is given, and all are kept. VERSION ends the reading."""

    ONE = auto()
    EACH = auto()
    SOME = auto()
    FLAG = auto()
    VERSION = auto()


@dataclass(frozen=True, slots=True)
class ValueType:
    """How a word becomes a value; `convert` raises ValueError with Java's text."""

    name: str
    convert: Callable[[str], Any]


TEXT = ValueType("String", str)
SHORT = ValueType("Short", java_short)
INTEGER = ValueType("Integer", java_integer)
LONG = ValueType("Long", java_long)
DOUBLE = ValueType("Double", parse_double)


@dataclass(frozen=True, slots=True)
class Argument:
    """One option. Those that share `group` exclude one another, and one of them must be given.

    `short` is its one-letter name; its value may follow without a gap.
    """

    flag: str
    type: ValueType = TEXT
    kind: Kind = Kind.ONE
    required: bool = False
    default: Any = None
    choices: Sequence[Any] = ()
    group: str | None = None
    short: str = ""

    @property
    def names(self) -> str:
        """As messages name it: in the order that Apache's tools declare."""
        if not self.short:
            return self.flag
        return f"{self.short}/{self.flag}" if self.kind is Kind.VERSION else f"{self.flag}/{self.short}"


class ArgumentError(Exception):
    """The arguments are refused with this message; `meant` are the names that were perhaps meant."""

    def __init__(self, message: str, meant: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.meant = meant


class HelpAsked(Exception):
    """--help was given."""


def _of(argument: Argument, message: str) -> ArgumentError:
    return ArgumentError(f"argument {argument.names}: {message}")


@dataclass(slots=True)
class Reading:
    """How much of one command line has been read."""

    words: Sequence[str]
    index: int = 0
    options_are_over: bool = False
    values: dict[str, Any] = field(default_factory=dict)
    used: list[Argument] = field(default_factory=list)

    def word(self) -> str | None:
        return self.words[self.index] if self.index < len(self.words) else None

    def is_flag(self) -> bool:
        word = self.word()
        if word is None or self.options_are_over:
            return False
        return word == "--" or (word.startswith("-") and not _NEGATIVE_NUMBER.fullmatch(word))

    def take_value(self) -> str | None:
        word = self.word()
        if word is None or self.is_flag():
            return None
        self.index += 1
        return word

    def unrecognized(self) -> ArgumentError:
        return ArgumentError(f"unrecognized arguments: '{' '.join(self.words[self.index :])}'")


class ArgumentParser:
    """The options of one program, or of one of its commands; its help is a usage text of `tool`."""

    def __init__(self, program: str, arguments: Sequence[Argument], tool: str, variant: str = "") -> None:
        self.program = program
        self._tool = tool
        self._variant = variant
        self._arguments = {argument.flag: argument for argument in arguments}
        self._shorts = {argument.short: argument.flag for argument in arguments if argument.short}

    # --- reading -----------------------------------------------------------------------------------------------------

    def parse(self, words: Sequence[str]) -> dict[str, Any]:
        """Values by the option's name without dashes. Raises ArgumentError, HelpAsked, VersionAsked."""
        run = self.read_all(words)
        self.check_required(run)
        return run.values

    def read_all(self, words: Sequence[str]) -> Reading:
        """All words; `check_required` is left to the caller. Raises ArgumentError, HelpAsked, VersionAsked."""
        run = self.read_options(words)
        if run.word() is not None:
            raise run.unrecognized()
        return run

    def read_options(self, words: Sequence[str]) -> Reading:
        """As far as options go: up to the first word that belongs to none. Raises what `read_all` raises."""
        run = Reading(words)
        run.values = {
            flag[2:]: False if argument.kind in (Kind.FLAG, Kind.VERSION) else argument.default
            for flag, argument in self._arguments.items()
        }
        while (word := run.word()) is not None:
            if word == "--" and not run.options_are_over:
                run.options_are_over = True
                run.index += 1
            elif run.is_flag():
                self._read_option(run, word)
            else:
                break
        return run

    def _read_option(self, run: Reading, word: str) -> None:
        flag, equals, embedded = word.partition("=")
        if word.startswith("-h"):
            flag = "-h"
        if word[:2] in self._shorts and not word.startswith("--"):
            flag, equals, embedded = self._shorts[word[:2]], word[2:], word[2:]
        argument = self._find(flag, word)
        run.index += 1
        self._check_exclusive(run, argument)
        if argument.kind is Kind.VERSION:
            if "=" in word:
                raise _of(argument, f"ignore implicit argument '{embedded.removeprefix('=')}'")
            raise VersionAsked
        if argument.kind is Kind.FLAG:
            if equals:
                raise _of(argument, f"ignore implicit argument '{embedded}'")
            value: Any = True
        elif argument.kind in (Kind.ONE, Kind.EACH):
            given = embedded if equals else run.take_value()
            if given is None:
                raise _of(argument, "expected one argument")
            value = _converted(argument, given)
            if argument.kind is Kind.EACH:
                value = [*(run.values[argument.flag[2:]] or ()), value]
        else:
            value = [_converted(argument, each) for each in self._several(run, embedded if equals else None)]
            if not value:
                raise _of(argument, "expected 1 argument(s)")
        run.values[argument.flag[2:]] = value
        run.used.append(argument)

    @staticmethod
    def _several(run: Reading, embedded: str | None) -> list[str]:
        if embedded is not None:
            return [embedded]
        found = []
        while (given := run.take_value()) is not None:
            found.append(given)
        return found

    def _find(self, flag: str, word: str) -> Argument:
        names = [*self._arguments, "-h", "--help"]
        found = [flag] if flag in names else sorted(name for name in names if name.startswith(flag))
        if not found:
            raise ArgumentError(f"unrecognized arguments: '{word}'", self._meant(word))
        if len(found) > 1:
            raise ArgumentError(f"ambiguous option: {flag} could match {', '.join(found)}")
        if found[0] in ("-h", "--help"):
            if "=" in word:
                raise ArgumentError(f"argument -h/--help: ignore implicit argument '{word.partition('=')[2]}'")
            raise HelpAsked
        return self._arguments[found[0]]

    @staticmethod
    def _check_exclusive(run: Reading, argument: Argument) -> None:
        for other in run.used:
            if argument.group and other.group == argument.group and other is not argument:
                raise _of(argument, f"not allowed with argument {other.names}")

    def check_required(self, run: Reading) -> None:
        """Raise ArgumentError unless everything was given that must be."""
        missing = [each for each in self._arguments.values() if each.required and each not in run.used]
        if missing:
            raise ArgumentError(f"argument {missing[-1].names} is required")
        groups = dict.fromkeys(each.group for each in self._arguments.values() if each.group)
        for group in groups:
            if not any(each.group == group for each in run.used):
                flags = " ".join(each.names for each in self._arguments.values() if each.group == group)
                raise ArgumentError(f"one of the arguments {flags} is required")

    # --- telling -----------------------------------------------------------------------------------------------------

    def help(self) -> str:
        return usage_of(self._tool, self._variant)

    def refusal(self, error: ArgumentError) -> str:
        """The text for stderr: usage, the error, and names that were perhaps meant."""
        usage = self.help().partition("\n\n")[0]
        text = f"{usage}\n{wrapped(f'{self.program}: error: {error}')}\n"
        if error.meant:
            text += "\nDid you mean:\n" + "".join(f"\t{name}\n" for name in error.meant)
        return text

    def _meant(self, word: str) -> list[str]:
        body = word.lstrip("-")
        return nearest_names(body, ("--help", *self._arguments)) if len(body) >= 2 else []


def _converted(argument: Argument, word: str) -> Any:
    try:
        value = argument.type.convert(word)
    except ValueError as error:
        raise _of(argument, f"could not convert '{word}' to {argument.type.name} ({error})") from None
    if argument.choices and value not in argument.choices:
        choices = ",".join(map(str, argument.choices))
        raise _of(argument, f"invalid choice: '{value}' (choose from {{{choices}}})")
    return value


def nearest_names(typed: str, names: Iterable[str]) -> list[str]:
    """Those of `names` most like what was typed, if any are; leading dashes do not count."""
    bare = {name: name.lstrip("-") for name in names}
    distances = {name: 0 if text.startswith(typed) else _distance(typed, text) for name, text in bare.items()}
    nearest = min(distances.values())
    return [] if nearest >= _FAR else sorted(name for name, distance in distances.items() if distance == nearest)


def wrapped(text: str) -> str:
    """Wrap to WIDTH; wider gaps fill all lines but the last. The end of its last line counts as a character."""
    lines, line = [], ""
    parts = _parts(text)
    for number, part in enumerate(parts, 1):
        if line and len(line) + len(part) + (number == len(parts)) > WIDTH:
            lines.append(_filled(line))
            line = ""
        line += part
    return "\n".join([*lines, line])


def _parts(text: str) -> list[str]:
    """The pieces that stay together; blanks belong to the piece before them."""
    pieces: list[str] = []
    for match in _LINE_PARTS.finditer(text):
        if match[0].isspace() and pieces:
            pieces[-1] += match[0]
        else:
            pieces.append(match[0])
    return pieces


def _filled(line: str) -> str:
    words = re.split(r"( +)", line.strip(" "))
    gaps = range(1, len(words), 2)
    if not gaps:
        return words[0]
    each, rest = divmod(WIDTH - sum(map(len, words)), len(gaps))
    first = (len(gaps) - rest + 1) // 2
    for number, gap in enumerate(gaps):
        words[gap] += " " * (each + (first <= number < first + rest))
    return "".join(words)


def _distance(typed: str, name: str) -> int:
    """The cost of turning `typed` into `name`: swapping neighbours is free, adding is cheap."""
    exchange, add, drop = 2, 1, 4
    before: list[int] = []
    row = list(range(len(name) + 1))
    for i, letter in enumerate(typed, 1):
        earlier, before, row = before, row, [i]
        for j, wanted in enumerate(name, 1):
            best = min(before[j - 1] + (exchange if letter != wanted else 0), before[j] + drop, row[j - 1] + add)
            swapped = i > 1 and j > 1 and letter != wanted and typed[i - 2] == wanted and letter == name[j - 2]
            row.append(min(best, earlier[j - 2]) if swapped else best)
    return row[-1]


# --- the opening of a program ----------------------------------------------------------------------------------------


def parse_or_tell(parser: ArgumentParser, words: Sequence[str]) -> dict[str, Any] | int:
    """The values; or the exit code, once help or an error is printed. No words at all print the help."""
    if not words:
        print(parser.help(), end="")
        return 0
    try:
        return parser.parse(words)
    except HelpAsked:
        print(parser.help(), end="")
    except ArgumentError as error:
        print(parser.refusal(error), end="", file=sys.stderr)
    return 1


def run_parsed(parser: ArgumentParser, words: Sequence[str], body: Callable[[dict[str, Any]], None]) -> int:
    """Run `body` with the values; it may block, and raise ArgumentError or FAILURES. Returns the exit code."""
    values = parse_or_tell(parser, words)
    if isinstance(values, int):
        return values
    from kafka_zk.tools.common.endings import tell_as_thrown
    from kafka_zk.tools.common.failures import FAILURES

    try:
        body(values)
    except ArgumentError as error:
        print(parser.refusal(error), end="", file=sys.stderr)
        return 1
    except FAILURES as error:
        tell_as_thrown(error)
        return 1
    return 0
