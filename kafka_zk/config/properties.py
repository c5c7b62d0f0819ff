"""Reads Java properties files: server.properties, tool configs, the logging configuration.

Role        Pure: text in, dict out, and back; `read_file` is the one function that opens a file.
Invariants  Equal to java.util.Properties.load, duplicates included (the last one counts).
Source      java.util.Properties: comments (# and !), separators (=, : or white space), continuation lines (an odd
            number of backslashes at the end), escapes (\\t \\n \\r \\f \\uXXXX, any other character means itself).

Example     `a\\ b = c\\` and `   d` on the next line give {"a b": "cd"}.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kafka_zk.config.errors import ConfigException

_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = {value: f"\\{name}" for name, value in _ESCAPES.items()}


def parse_properties(text: str) -> dict[str, str]:
    """The entries of a file's text. Raises ConfigException for a broken \\uXXXX, as Java does."""
    properties = {}
    for line in _logical_lines(text):
        key, value = _split(line)
        properties[_unescape(key)] = _unescape(value)
    return properties


def read_file(path: str | Path) -> dict[str, str]:
    """The entries of a file. Kafka reads bytes as ISO-8859-1; so do we. Raises OSError, ConfigException."""
    return parse_properties(Path(path).read_bytes().decode("iso-8859-1"))


def apply_overrides(properties: dict[str, str], overrides: Iterable[str]) -> dict[str, str]:
    """`properties` with `key=value` arguments (--override) on top. Raises ConfigException for another form."""
    result = dict(properties)
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals or not key:
            raise ConfigException(f"Invalid command line properties: {override}")
        result[key] = value
    return result


def format_properties(properties: Mapping[str, str]) -> str:
    """The text, in ASCII, that `parse_properties` reads as `properties`: one line each, in their order."""
    return "".join(
        f"{_escaped(key, of_key=True)}={_escaped(value, of_key=False)}\n" for key, value in properties.items()
    )


def _escaped(text: str, *, of_key: bool) -> str:
    pieces = []
    for position, character in enumerate(text):
        if character in _ESCAPED:
            pieces.append(_ESCAPED[character])
        elif character == "\\" or (character == " " and (of_key or position == 0)) or (of_key and character in "=:#!"):
            pieces.append("\\" + character)
        elif " " <= character <= "~":
            pieces.append(character)
        else:
            units = character.encode("utf-16-be", "surrogatepass")
            pieces += [f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)]
    return "".join(pieces)


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments and blank ones, continuations joined."""
    natural = iter(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    for first in natural:
        line = first.lstrip(_BLANK)
        if not line or line[0] in "#!":
            continue
        while _continues(line):
            following = next(natural, None)
            line = line[:-1] + ("" if following is None else following.lstrip(_BLANK))
            if following is None:
                break
        yield line


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(line: str) -> tuple[str, str]:
    """Key and value, still escaped. The first unescaped separator ends the key; white space around it is dropped."""
    position = 0
    while position < len(line) and line[position] not in "=:" + _BLANK:
        position += 2 if line[position] == "\\" else 1
    key, rest = line[:position], line[position:].lstrip(_BLANK)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANK)
    return key, rest


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    units: list[str] = []
    characters = iter(text)
    for character in characters:
        if character != "\\":
            units.append(character)
            continue
        escaped = next(characters, "")
        if escaped == "u":
            digits = "".join(next(characters, "") for _ in range(4))
            if len(digits) != 4 or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
                raise ConfigException("Malformed \\uxxxx encoding.")
            units.append(chr(int(digits, 16)))
        else:
            units.append(_ESCAPES.get(escaped, escaped))
    # Two \\uXXXX may be the halves of one character beyond the basic plane.
    return "".join(units).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
