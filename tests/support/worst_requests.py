"""The worst requests of each API, made from its declaration: one array as long as a frame lets it be.

`worst_requests` gives, for each array of a request, one request whose elements are all the same, and one whose elements
are all different and unknown.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BYTES, RECORDS, STRING, UUID, Array, Field, Struct

FRAME_BYTES = 1_000_000
KINDS = ("same", "unknown")


class Worst(NamedTuple):
    """`name` says which array is long, and of what."""

    name: str
    body: bytes


def worst_requests(message: Message[Any], version: int, known: str, size_bytes: int = FRAME_BYTES) -> Iterator[Worst]:
    """Bodies of at most `size_bytes`. `known` is the name of a topic, group or whatever a string may be."""
    for path in _arrays(message.struct, version, ()):
        for kind in KINDS:
            maker = _Maker(message, version, known, path, is_same=kind == "same")
            yield Worst(f"{message.name} v{version} {'.'.join(path)} {kind}", maker.body(size_bytes))


def _arrays(struct: Struct, version: int, around: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for field in struct.fields:
        if version in field.versions and isinstance(field.type, Array):
            path = (*around, field.name)
            yield path
            if field.struct is not None:
                yield from _arrays(field.struct, version, path)


class _Maker:
    def __init__(
        self, message: Message[Any], version: int, known: str, path: tuple[str, ...], *, is_same: bool
    ) -> None:
        self._message = message
        self._version = version
        self._known = known
        self._path = path
        self._is_same = is_same
        self._numbers = itertools.count()

    def body(self, size_bytes: int) -> bytes:
        """As many elements as there is room for."""
        small = len(self._encoded(1))
        # Of distinct elements the last ones are the largest.
        count = 64
        one = (len(self._encoded(count)) - small) / (count - 1)
        count = int((size_bytes - small) / (one if self._is_same else one + 3))
        body = self._encoded(count)
        while len(body) > size_bytes:
            count = count * 9 // 10
            body = self._encoded(count)
        return body

    def _encoded(self, count: int) -> bytes:
        self._numbers = itertools.count()
        return self._message.encode(self._struct(self._message.struct, self._path, count), self._version)

    def _struct(self, struct: Struct, path: tuple[str, ...], count: int) -> Any:
        value: Any = struct.value_class()
        for field in struct.fields:
            if self._version in field.versions:
                content = self._content(field, path, count)
                if content is not None:
                    setattr(value, field.name, content)
        return value

    def _content(self, field: Field, path: tuple[str, ...], count: int) -> Any:
        leads = bool(path) and field.name == path[0]
        if isinstance(field.type, Array):
            if not leads:
                return [] if self._version not in field.nullable or not path else None
            wanted = count if len(path) == 1 else 1
            if field.struct is None:
                return [self._scalar(field, differs=not self._is_same) for _ in range(wanted)]
            return [self._struct(field.struct, path[1:], count) for _ in range(wanted)]
        if isinstance(field.type, Struct):
            return None
        # Inside the long array each element is one of its own.
        return self._scalar(field, differs=not path and not self._is_same)

    def _scalar(self, field: Field, *, differs: bool) -> Any:
        scalar = field.type.element if isinstance(field.type, Array) else field.type
        given = _GIVEN.get((self._message.name, field.name))
        if given is not None:
            return given
        if scalar is STRING:
            return f"{next(self._numbers):x}" if differs else self._known
        if scalar in (BYTES, RECORDS, UUID) or field.name in _LEFT_ALONE:
            return None
        if (differs and field.name in _COUNTED) or isinstance(field.type, Array):
            return next(self._numbers) % 100 if getattr(scalar, "fixed", "") in ("b", "h") else next(self._numbers)
        return None


_GIVEN: dict[tuple[str, str], Any] = {
    ("ProduceRequest", "acks"): -1,
    ("JoinGroupRequest", "session_timeout_ms"): 10_000,
    ("JoinGroupRequest", "rebalance_timeout_ms"): 1_000,
    ("JoinGroupRequest", "member_id"): "",
    ("JoinGroupRequest", "group_instance_id"): None,
}
"""Fields whose value decides whether the rest is looked at at all, for one request."""
_COUNTED = frozenset(("partition", "partition_index", "index", "partition_id"))
_LEFT_ALONE = frozenset(("session_id", "session_epoch"))
