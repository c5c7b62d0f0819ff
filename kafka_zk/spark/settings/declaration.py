"""The declaration of a job's settings, from which command line, TOML file, help and checks are made.

Role        Pure.
Invariants  A value that reaches a job has the type of its row. Unknown names and wrong values are a SettingError that
            names the setting, never a traceback.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass

from kafka_zk.spark.whole_number import whole_number

Value = str | int | bool | list[str] | dict[str, str] | None


class SettingError(Exception):
    """An invalid setting, in one sentence."""


class Kind(enum.Enum):
    """What a value is. A LIST may be given comma separated or one by one, a MAPPING as KEY=VALUE."""

    TEXT = "TEXT"
    INTEGER = "N"
    FLAG = ""
    LIST = "NAME[,NAME...]"
    MAPPING = "KEY=VALUE"


@dataclass(frozen=True, slots=True)
class Setting:
    """One row. `section` is the TOML table that holds it; empty for the table of the job itself."""

    name: str
    kind: Kind
    doc: str
    default: Value = None
    required: bool = False
    choices: tuple[str, ...] = ()
    section: str = ""
    key: str = ""
    """Its name within the section where that is another one."""

    @property
    def toml_key(self) -> str:
        return self.key or self.name

    def parse(self, given: object) -> Value:
        """Raises SettingError."""
        value = _PARSERS[self.kind](self, given)
        if self.choices:
            for each in value if isinstance(value, list) else [value]:
                if each not in self.choices:
                    raise SettingError(f"{self.name} must be one of {', '.join(self.choices)}, not {each!r}")
        return value


def _text(setting: Setting, given: object) -> Value:
    if not isinstance(given, (str, int)) or isinstance(given, bool) or given == "":
        raise SettingError(f"{setting.name} must be a string, not {given!r}")
    return str(given)


def _integer(setting: Setting, given: object) -> Value:
    number = whole_number(given)
    if number is None:
        raise SettingError(f"{setting.name} must be an integer, not {given!r}")
    if number < 1:
        raise SettingError(f"{setting.name} must be positive, not {number}")
    return number


def _flag(setting: Setting, given: object) -> Value:
    if not isinstance(given, bool):
        raise SettingError(f"{setting.name} must be true or false, not {given!r}")
    return given


def _list(setting: Setting, given: object) -> Value:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise SettingError(f"{setting.name} must be a list of strings, not {given!r}")
    parts = [part.strip() for text in texts for part in text.split(",")]
    found = [part for part in parts if part]
    if not found:
        raise SettingError(f"{setting.name} must name at least one")
    return found


def _mapping(setting: Setting, given: object) -> Value:
    if isinstance(given, list):
        pairs: dict[str, str] = {}
        for text in given:
            name, equals, value = str(text).partition("=")
            if not equals or not name:
                raise SettingError(f"{setting.name} must be KEY=VALUE, not {text!r}")
            pairs[name] = value
        return pairs
    if not isinstance(given, dict):
        raise SettingError(f"{setting.name} must be a table of names and values, not {given!r}")
    return {name: _plain(f"{setting.name}.{name}", value) for name, value in given.items()}


def _plain(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise SettingError(f"{name} must be a string, a number, true or false, not {value!r}")


_PARSERS = {Kind.TEXT: _text, Kind.INTEGER: _integer, Kind.FLAG: _flag, Kind.LIST: _list, Kind.MAPPING: _mapping}


@dataclass(frozen=True, slots=True)
class JobDeclaration:
    """A job's name, what it does, and its settings."""

    name: str
    summary: str
    settings: tuple[Setting, ...]
    needs_one_of: tuple[tuple[str, ...], ...] = ()
    """Of each group exactly one must be given."""

    def by_name(self) -> dict[str, Setting]:
        return {setting.name: setting for setting in self.settings}


class Settings:
    """Checked values of one run, by the names of their rows."""

    def __init__(self, job: JobDeclaration, given: Mapping[str, object]) -> None:
        """Raises SettingError for unknown names, wrong values, and what is missing or does not go together."""
        rows = job.by_name()
        unknown = sorted(given.keys() - rows.keys())
        if unknown:
            raise SettingError(f"{job.name} has no setting {unknown[0]!r}")
        self._values = {name: row.default for name, row in rows.items()}
        self._values |= {name: rows[name].parse(value) for name, value in given.items()}
        missing = [name for name, row in rows.items() if row.required and name not in given]
        if missing:
            raise SettingError(f"{job.name} requires {', '.join(missing)}")
        for group in job.needs_one_of:
            _check_one_of(job.name, group, given)

    def with_mapping(self, name: str, value: Mapping[str, str]) -> Settings:
        """The same settings with another mapping."""
        made = copy(self)
        made._values = self._values | {name: dict(value)}
        return made

    def with_flag(self, name: str, value: bool) -> Settings:
        """The same settings with this flag, unless it was given."""
        made = copy(self)
        made._values = self._values if self.has(name) else self._values | {name: value}
        return made

    def has(self, name: str) -> bool:
        return self._values[name] is not None

    def text(self, name: str) -> str:
        """Empty when it was not given."""
        value = self._values[name]
        assert value is None or isinstance(value, str), f"{name} is not a string"
        return value or ""

    def integer(self, name: str) -> int | None:
        value = self._values[name]
        assert value is None or (isinstance(value, int) and not isinstance(value, bool)), f"{name} is not a number"
        return value

    def flag(self, name: str) -> bool:
        value = self._values[name]
        assert value is None or isinstance(value, bool), f"{name} is not a flag"
        return bool(value)

    def texts(self, name: str) -> list[str]:
        value = self._values[name]
        assert value is None or isinstance(value, list), f"{name} is not a list"
        return value or []

    def mapping(self, name: str) -> dict[str, str]:
        value = self._values[name]
        assert value is None or isinstance(value, dict), f"{name} is not a mapping"
        return value or {}


def _check_one_of(job: str, group: Iterable[str], given: Mapping[str, object]) -> None:
    names = list(group)
    found = [name for name in names if given.get(name) not in (None, False)]
    if len(found) != 1:
        what = "requires" if not found else "takes only"
        raise SettingError(f"{job} {what} one of {', '.join(names)}")
