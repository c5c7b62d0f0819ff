"""Collects generated source for the decoder and encoder compilers.

Role        Collects indented lines and the objects they mention, then turns them into functions.
Invariants  Only field names and class names of our own declarations reach the source; values are passed by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka_zk.protocol.schema import Array, Field, FieldType, Scalar, Struct


class Source:
    """Python source that grows by lines, and the namespace it will run in."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self._lines: list[str] = []
        self._depth = 0
        self._counter = 0

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """Lines written inside are indented under `opening`."""
        self.line(opening)
        self._depth += 1
        yield
        self._depth -= 1

    def name(self, prefix: str) -> str:
        """An unused name."""
        self._counter += 1
        return f"{prefix}{self._counter}"

    def bind(self, prefix: str, value: Any) -> str:
        """A new global name for `value`."""
        name = self.name(prefix)
        self.names[name] = value
        return name

    def share(self, name: str, value: Any) -> str:
        """A fixed global name; the same value each time."""
        self.names[name] = value
        return name

    def prepend(self, other: Source) -> None:
        """Put `other`'s lines before these: helpers of the main function. Both share names and counter."""
        self._lines = other._lines + self._lines

    def sibling(self) -> Source:
        """An empty notebook with the same namespace, for a helper function."""
        other = Source()
        other.names = self.names
        other._counter = self._counter + 1000
        self._counter = other._counter
        return other

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def compile(self, function: str, label: str) -> Any:
        """Run the source and return its function called `function`."""
        exec(compile(self.text(), label, "exec"), self.names)
        return self.names[function]


def is_inline(field: Field, version: int) -> bool:
    """Whether the field is between its neighbours in this version, not in the tag section."""
    return version in field.versions and field.tag is None


def tagged_fields(struct: Struct, version: int) -> list[Field]:
    """The struct's tagged fields in this version, by tag."""
    fields = [field for field in struct.fields if field.tag is not None and version in field.versions]
    return sorted(fields, key=lambda field: field.tag or 0)


def number_array(type: FieldType) -> str | None:
    """The struct character of an array of integers or floats, None for other types."""
    if isinstance(type, Array) and isinstance(type.element, Scalar):
        fixed = type.element.fixed
        return fixed if fixed in {"b", "h", "H", "i", "q", "d"} else None
    return None
