"""The classes of decoded messages: slots classes, one per struct of a declaration.

Role        Gives every struct its class: keyword arguments with Kafka's defaults, equality by value, a repr to read.
Invariants  Every slot is always set. A default list or struct is a new one for each object, never shared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast


class Declared(Protocol):
    """A Field of a declaration, as far as a class needs it."""

    name: str

    @property
    def default(self) -> Any: ...
    @property
    def has_fresh_default(self) -> bool: ...
    @property
    def is_list(self) -> bool: ...
    @property
    def made_of(self) -> type[Value] | None: ...


SHOWN_ELEMENTS, SHOWN_CHARACTERS = 20, 1_000

ABSENT = type("Absent", (), {"__repr__": lambda _: "..."})()


class Value:
    """Base of all message classes. Mutable, therefore not hashable."""

    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={_shown(getattr(self, name))}" for name in self.__slots__)
        return f"{self.__class__.__name__}({fields})"


def _shown(value: Any) -> str:
    """Long payloads and arrays are shown by their size, long texts by their beginning: a repr must fit a log line."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return repr(bytes(value)) if len(value) <= 32 else f"<{len(value)} bytes>"
    if isinstance(value, list) and len(value) > SHOWN_ELEMENTS:
        return f"[{', '.join(map(repr, value[:SHOWN_ELEMENTS]))}, ... {len(value)} in all]"
    if isinstance(value, str) and len(value) > SHOWN_CHARACTERS:
        return f"{value[:SHOWN_CHARACTERS]!r}..."
    return repr(value)


_compiled_maker: Callable[..., None] | None = None
_FIELDS: dict[type, Sequence[Declared]] = {}
_LISTS: dict[type, tuple[str, ...]] = {}


def list_fields(value_class: type) -> tuple[str, ...]:
    """The fields of a message class that hold lists; none of any other class."""
    names = _LISTS.get(value_class)
    if names is None:
        names = _LISTS[value_class] = tuple(field.name for field in _FIELDS.get(value_class, ()) if field.is_list)
    return names


def make_with(compiled_maker: Callable[..., None] | None) -> None:
    """Let `compiled_maker` serve calls of message classes; `coding` calls this if the module is compiled."""
    global _compiled_maker
    _compiled_maker = compiled_maker


def make_value_class(class_name: str, kafkas_name: str, declared: Sequence[Declared]) -> type[Value]:
    """The class of a struct with these fields.

    Its initializer is made with the first object, so that importing costs little.
    """

    def first_init(self: Any, **fields: Any) -> None:
        value_class.__init__ = compile_init(declared)
        if _compiled_maker is not None:
            _compiled_maker(
                value_class,
                tuple(field.name for field in declared),
                tuple(ABSENT if field.has_fresh_default else field.default for field in declared),
                tuple(field.made_of for field in declared),
            )
        value_class.__init__(self, **fields)

    namespace = {
        "__slots__": tuple(field.name for field in declared),
        "__init__": first_init,
        "__doc__": f"Kafka's {kafkas_name}.",
    }
    value_class: Any = type(class_name, (Value,), namespace)
    _FIELDS[value_class] = declared
    return cast(type[Value], value_class)


def compile_init(declared: Sequence[Declared]) -> Any:
    """The initializer in Python, used where nothing is compiled, and for the first object everywhere."""
    names: dict[str, Any] = {"absent": ABSENT}
    parameters, lines = [], []
    for index, field in enumerate(declared):
        if field.has_fresh_default:
            inner = field.made_of
            names[f"new_{index}"] = inner or list
            parameters.append(f"{field.name}=absent")
            fresh = f"new_{index}()" if inner is not None else "[]"
            lines.append(f"    self.{field.name} = {fresh} if {field.name} is absent else {field.name}")
        else:
            names[f"default_{index}"] = field.default
            parameters.append(f"{field.name}=default_{index}")
            lines.append(f"    self.{field.name} = {field.name}")
    signature = f"def __init__(self, *, {', '.join(parameters)}):" if parameters else "def __init__(self):"
    exec("\n".join([signature, *(lines or ["    pass"])]), names)
    return names["__init__"]
