"""The declaration language of messages.

Role        `messages/` is written in these words; the compiler, the stubs and the tests read them.
Invariants  A field is on the wire in exactly the versions of `versions`; elsewhere it holds its default.
            A field with a `tag` is never inline: it travels in the tag section that ends its struct, unless it
            equals its default. Compact lengths and tag sections follow from the message's `flexible` versions.
Source      Kafka 3.9 message definitions: FieldSpec, StructSpec, Versions of the message generator.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kafka_zk.protocol.types import NULL_UUID
from kafka_zk.protocol.value import Value, make_value_class

NEVER: Final = 0x8000  # a version no message reaches


class Versions(NamedTuple):
    """A closed range of versions; empty when `low > high`."""

    low: int
    high: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Read "3", "0-4", "2+" or "none"."""
        if text == "none":
            return cls(NEVER, -1)
        if text.endswith("+"):
            return cls(int(text[:-1]), NEVER - 1)
        low, _, high = text.partition("-")
        return cls(int(low), int(high or low))

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.low <= version <= self.high


class Scalar(NamedTuple):
    """A type without parts: Kafka's name for it, and its struct character where it has a fixed width."""

    name: str
    fixed: str | None
    zero: Any  # the default of a field that declares none


INT8 = Scalar("int8", "b", 0)
INT16 = Scalar("int16", "h", 0)
INT32 = Scalar("int32", "i", 0)
INT64 = Scalar("int64", "q", 0)
FLOAT64 = Scalar("float64", "d", 0.0)
BOOL = Scalar("bool", "?", False)
UUID = Scalar("uuid", "16s", NULL_UUID)
STRING = Scalar("string", None, "")
BYTES = Scalar("bytes", None, b"")
RECORDS = Scalar("records", None, None)


class Array(NamedTuple):
    """A counted list of one type; arrays of arrays do not exist in Kafka."""

    element: Scalar | Struct


class Struct:
    """A named group of fields and its class. `class_name` differs from Kafka's where one module needs two of a name."""

    def __init__(self, name: str, fields: tuple[Field, ...], *, class_name: str | None = None) -> None:
        self.name = name
        self.fields = fields
        self.class_name = class_name or name
        self.value_class: type[Value] = make_value_class(self.class_name, name, fields)

    def __repr__(self) -> str:
        return f"Struct({self.name}: {', '.join(field.name for field in self.fields)})"

    def structs(self) -> Iterator[Struct]:
        """This struct and all inside it, depth first, each once."""
        seen: dict[int, Struct] = {id(self): self}
        for field in self.fields:
            inner = field.struct
            if inner is not None:
                seen.update((id(struct), struct) for struct in inner.structs())
        return iter(seen.values())


FieldType = Scalar | Array | Struct
_UNSET: Final = object()


class Field:
    """One field: Python name, versions, type, and what Kafka says about null, default, tag and ignorable.

    `ignorable`: in versions without the field a value other than the default is dropped silently; otherwise
    encoding it raises UnsupportedVersion, so that no caller believes it was sent.
    """

    __slots__ = ("_default", "ignorable", "name", "nullable", "tag", "type", "versions")

    def __init__(
        self,
        name: str,
        versions: str,
        type: FieldType,
        *,
        nullable: str = "none",
        default: Any = _UNSET,
        tag: int | None = None,
        ignorable: bool = False,
    ) -> None:
        self.name = name
        self.versions = Versions.parse(versions)
        self.type = type
        self.nullable = Versions.parse(nullable)
        self.tag = tag
        self.ignorable = ignorable
        self._default = default

    def __repr__(self) -> str:
        return f"Field({self.name})"

    @property
    def is_nullable(self) -> bool:
        """Whether None is possible in any version."""
        return self.nullable.low <= self.nullable.high or self.type is RECORDS or self.default_is_none

    @property
    def is_list(self) -> bool:
        return isinstance(self.type, Array)

    @property
    def made_of(self) -> type[Value] | None:
        """The class of a field that is a struct; None for lists of them, and for all others."""
        return self.type.value_class if isinstance(self.type, Struct) else None

    @property
    def default_is_none(self) -> bool:
        return self._default is None

    @property
    def default(self) -> Any:
        """The immutable default, or None. Arrays and structs start fresh: see `has_fresh_default`."""
        if self._default is not _UNSET:
            return self._default
        return self.type.zero if isinstance(self.type, Scalar) else _UNSET

    @property
    def has_fresh_default(self) -> bool:
        """Whether the default is a new empty list or a new struct for each object."""
        return self._default is _UNSET and not isinstance(self.type, Scalar)

    @property
    def struct(self) -> Struct | None:
        """The struct inside this field, or inside its array."""
        inner = self.type.element if isinstance(self.type, Array) else self.type
        return inner if isinstance(inner, Struct) else None
