"""Command-line options as Apache's tools read them.

Role        Pure. A tool declares its options once, parses its arguments, and checks what goes together.
Invariants  `--opt value`, `--opt=value` and `-opt value` mean the same; an option that takes a value takes the next
            argument whatever it looks like; `--opt=` has an empty value. `--` ends the options.
            Other words are allowed and ignored. Types are checked when a value is asked for, not before.
            Abbreviations are refused, as Apache's tools refuse them.
Source      jopt-simple 5.0.4 OptionParser; Kafka 3.9 CommandDefaultOptions, CommandLineUtils.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.common.java_values import java_integer, java_long

VERSION_TEXT = "3.9.1"


_FOR_HELP = ("help", "version")


class OptionError(JavaError):
    """The arguments cannot be read; the class is the one that Apache's parser throws."""

    def __init__(self, message: str, java_class: str) -> None:
        super().__init__(message, f"joptsimple.{java_class}")


def _reflection_error(message: str) -> JavaError:
    """What jopt-simple meets when it calls Integer.valueOf: it goes through reflection, and says so."""
    cause = JavaError(message, "java.lang.NumberFormatException")
    error = JavaError(f"{cause.java_class}: {message}", "joptsimple.internal.ReflectionException")
    error.__cause__ = cause
    return error


class UsageError(Exception):
    """The arguments do not make sense together: the tool prints this sentence and its usage."""


class VersionAsked(Exception):
    """The tool prints the version and exits with 0."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option; `takes_value` of any text, which `integer` may ask to be a number.

    Where `value_is_optional`, what follows is its value unless it looks like an option itself, as -1 does; one that
    `is_number` takes -1, and nothing that is no number. `available_beside` names the options of which one must also be
    given; `separator` cuts a value into several; unless an option that `is_required` is given, only help and version
    work.
    """

    name: str
    takes_value: bool = False
    value_is_optional: bool = False
    available_beside: Sequence[str] = ()
    separator: str = ""
    is_required: bool = False
    is_number: bool = False


class Options:
    """The options of one run."""

    def __init__(self, declared: Iterable[Option], arguments: Sequence[str]) -> None:
        """Raises OptionError."""
        self._declared = {option.name: option for option in declared}
        self._found: dict[str, list[str]] = {}
        self._order: list[str] = []
        self.arguments = list(arguments)
        rest = deque(self.arguments)
        while rest:
            argument = rest.popleft()
            if argument == "--":
                break
            if argument.startswith("--"):
                self._take(argument[2:], rest)
            elif argument.startswith("-") and argument != "-":
                self._take_short(argument[1:], rest)
        self._check_company()

    def _check_company(self) -> None:
        """Help and version work whatever else is missing or wrong."""
        if any(name in self._found for name in _FOR_HELP):
            return
        missing = [
            option.name for option in self._declared.values() if option.is_required and not self.has(option.name)
        ]
        if missing:
            raise OptionError(
                f"Missing required option(s) [{', '.join(sorted(missing))}]", "MissingRequiredOptionsException"
            )
        forbidden = [
            name
            for name, option in self._declared.items()
            if name in self._found and option.available_beside and not any(map(self.has, option.available_beside))
        ]
        if forbidden:
            raise OptionError(
                f"Option(s) [{', '.join(sorted(forbidden))}] are unavailable given other options on the command line",
                "UnavailableOptionException",
            )

    def _take(self, text: str, rest: deque[str]) -> None:
        name, equals, value = text.partition("=")
        option = self._declared.get(name)
        if option is None:
            raise _unrecognized(name)
        self._found.setdefault(name, [])
        self._order.append(name)
        if not option.takes_value:
            return
        if equals:
            self._add(option, value)
        elif not option.value_is_optional or (rest and _may_be_a_value(rest[0], is_number=option.is_number)):
            self._add(option, self._next_of(name, rest))

    def _add(self, option: Option, value: str) -> None:
        parts = [part for part in value.split(option.separator) if part] if option.separator else []
        self._found[option.name].extend(parts or [value])

    def _take_short(self, text: str, rest: deque[str]) -> None:
        """One dash: the whole word may be an option; else each letter must be one, and no tool has such options."""
        if text.partition("=")[0] in self._declared:
            self._take(text, rest)
        else:
            raise _unrecognized(text[0])

    @staticmethod
    def _next_of(name: str, rest: deque[str]) -> str:
        if not rest:
            raise OptionError(f"Option {name} requires an argument", "OptionMissingRequiredArgumentException")
        return rest.popleft()

    # --- what was given ----------------------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        assert name in self._declared, f"{name} is not declared"
        return name in self._found

    def in_order(self) -> list[str]:
        """The options in the order given; repeated ones are repeated."""
        return self._order

    def text(self, name: str) -> str | None:
        """The value of an option that may be given once; None when it was not. Raises OptionError for a second one."""
        values = self.texts(name)
        if len(values) > 1:
            raise OptionError(
                f"Found multiple arguments for option {name}, but you asked for only one",
                "MultipleArgumentsForOptionException",
            )
        return values[0] if values else None

    def texts(self, name: str) -> list[str]:
        """Every value of an option that may be repeated."""
        assert self._declared[name].takes_value, f"{name} takes no value"
        return self._found.get(name, [])

    def integer(self, name: str) -> int | None:
        """The same as a Java int. Raises OptionError."""
        return self._number(name, java_integer)

    def long(self, name: str) -> int | None:
        """The same as a Java long. Raises OptionError."""
        return self._number(name, java_long)

    def _number(self, name: str, convert: Callable[[str], int]) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            return convert(text)
        except ValueError as error:
            raise OptionError(
                f"Cannot parse argument '{text}' of option {name}", "OptionArgumentConversionException"
            ) from _reflection_error(str(error))

    def key_values(self, name: str) -> dict[str, str]:
        """Every `key=value` of a repeated option, the last of a key counting; a key alone has an empty value."""
        pairs = (text.partition("=") for text in self.texts(name))
        return {key: value for key, _, value in pairs}

    # --- what goes together ------------------------------------------------------------------------------------------

    def check_help_or_version(self, *, without_arguments: str, help_text: str) -> None:
        """Raise UsageError with the tool's description when help is needed, VersionAsked for --version."""
        if not self.arguments:
            raise UsageError(without_arguments)
        if self.has("help"):
            raise UsageError(help_text)
        if self.has("version"):
            raise VersionAsked

    def require_one_of(self, name: str, instead: str) -> None:
        """Raise OptionError unless `name` or `instead` was given, or help or version is asked for."""
        if not any(map(self.has, (name, instead, "help", "version"))):
            raise OptionError(f"Missing required option(s) [{name}]", "MissingRequiredOptionsException")

    def require(self, *names: str) -> None:
        """Raise UsageError unless all of `names` were given."""
        for name in names:
            if not self.has(name):
                raise UsageError(f'Missing required argument "[{name}]"')

    def refuse_beside(self, used: str, refused: Iterable[str]) -> None:
        """Raise UsageError if `used` was given and one of `refused` too."""
        if not self.has(used):
            return
        for name in refused:
            if self.has(name):
                raise UsageError(f'Option "[{used}]" can\'t be used with option "[{name}]"')

    def refuse_combination(self, used: Sequence[str], refused: str, advice: str) -> None:
        """Raise UsageError if all of `used` were given and `refused` too."""
        if all(map(self.has, used)) and self.has(refused):
            names = ", ".join(f"[{name}]" for name in used)
            raise UsageError(f'Option combination "[{names}]" can\'t be used with option "[{refused}]"{advice}')


def _may_be_a_value(argument: str, *, is_number: bool) -> bool:
    return argument.removeprefix("-").isdecimal() if is_number else not _looks_like_an_option(argument)


def _looks_like_an_option(argument: str) -> bool:
    return argument.startswith("-") and argument != "-"


def usage_of(tool: str, variant: str = "") -> str:
    """The option table of a tool: usage.txt of its package, or usage-<variant>.txt."""
    from importlib.resources import files  # a tenth of a run's time; most runs print no usage

    name = f"usage-{variant}.txt" if variant else "usage.txt"
    return files(f"kafka_zk.tools.{tool}").joinpath(name).read_text("utf-8")


def _unrecognized(name: str) -> OptionError:
    return OptionError(f"{name} is not a recognized option", "UnrecognizedOptionException")
