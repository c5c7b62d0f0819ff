"""The response to a request that failed as a whole: every element carries the error code.

Role        Pure. Driven by the declarations: fields called error_code and error_message are filled wherever they exist
            in the version at hand, and the Form, declared with the handler (`@api(..., errors=Form(...))`), says
            which array of the response answers which array of the request.
Invariants  An API without a form has no array: the code is at its top. A golden test compares the bytes of
            every API and version with Kafka's own.
Source      getErrorResponse of each request class in org.apache.kafka.common.requests, ApiError.fromThrowable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from kafka_zk.api.walk import IN_WORDS
from kafka_zk.protocol.errors import BrokerError, ErrorCode, error_code_for, message_of
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import Field, Struct, Versions

ALL_VERSIONS = Versions.parse("0+")


class Text(Enum):
    """The content of an error_message."""

    NONE = auto()  # the field keeps its default
    OWN = auto()  # the error's message; null if it is only the code's standard text, or if it is a bug of ours
    STANDARD = auto()  # the code's standard text, whatever the error's own text


@dataclass(frozen=True, slots=True)
class Each:
    """One element of the response's `answered` for each element of the request's `asked`.

    `asked` may lead through nested arrays ("topics.partitions"). Fields of an answer take the field of the same name
    from the innermost element, else from those that enclose it; `copied` names pairs that differ (answer's, element's).
    Elements that are no structs go to the answer's field `key`. `constants` differ from the declared defaults.
    """

    asked: str
    answered: str
    key: str = ""
    copied: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    inner: tuple[Each, ...] = ()
    versions: Versions = ALL_VERSIONS
    same_names: bool = True


@dataclass(frozen=True, slots=True)
class Form:
    """How one API fails. `copied` and `constants` are about the response's own fields.

    `may_be_silent`: whether a request that asks for no acknowledgement gets no answer, not even of its failure.
    For the counts of error codes: `uncounted` is a field, or a field of an array's elements ("array.field"), whose code
    Kafka does not count; `code_counts_always`: it counts the code at the top also in versions that do not have it.
    """

    each: tuple[Each, ...] = ()
    text: Text = Text.NONE
    copied: tuple[str, ...] = ()
    constants: Mapping[str, Any] = field(default_factory=dict)
    versioned_constants: tuple[tuple[str, Versions, Any], ...] = ()
    may_be_silent: bool = False
    uncounted: str = ""
    code_counts_always: bool = False


NO_FORM = Form()


def each_topic(*inner: Each) -> tuple[Each, ...]:
    """One response element per topic, and `inner` within each."""
    return (Each("topics", "topics", inner=inner),)


PARTITIONS = Each("partitions", "partitions")

UNSERVED: Mapping[int, Form] = {}
"""By API key: the forms of APIs without a handler yet; later their handlers declare them."""

CODE_FIELDS = ("error_code", "partition_error_code")


def error_response(
    form: Form,
    request_message: Message[Any],
    response_message: Message[Any],
    request: Any,
    api_version: int,
    error: Exception,
    give_way: Callable[[], object] | None = None,
) -> Any:
    """The response, or None if this request gets none (a produce with acks=0).

    Blocks as `give_way`, which is called between elements.
    """
    if form.may_be_silent and request.acks == 0:
        return None
    code = error_code_for(error)
    filler = _Filler(api_version, int(code), form.text, _text(form.text, code, error), give_way)
    response = filler.new(response_message.struct, form.constants)
    for name in form.copied:
        filler.put(response_message.struct, response, name, getattr(request, name))
    for name, versions, value in form.versioned_constants:
        if api_version in versions:
            setattr(response, name, value)
    for each in form.each:
        filler.mirror(each, ((request, request_message.struct),), response_message.struct, response)
    return response


def _text(text: Text, code: ErrorCode, error: Exception) -> str | None:
    standard = message_of(code)
    if text is Text.STANDARD:
        return standard
    own = str(error) if isinstance(error, BrokerError) else None
    return None if code is ErrorCode.UNKNOWN_SERVER_ERROR or own == standard else own


_Chain = tuple[tuple[Any, "Struct | None"], ...]
"""An element and its enclosing elements, innermost first, each with its struct (None: a number or a string)."""


class _Filler:
    """Builds one error response for one version."""

    def __init__(
        self, api_version: int, code: int, text: Text, message: str | None, give_way: Callable[[], object] | None
    ) -> None:
        self._api_version = api_version
        self._code = code
        self._text = text
        self._message = message
        self._give_way = give_way
        self._known: dict[tuple[Any, ...], Any] = {}
        self._count = 0

    def new(self, struct: Struct, constants: Mapping[str, Any]) -> Any:
        """An object of `struct` with code, message and constants wherever this version has the fields."""
        value = struct.value_class()
        for each_field in struct.fields:
            name = each_field.name
            if self._api_version not in each_field.versions:
                continue
            if name in CODE_FIELDS:
                setattr(value, name, self._code)
            elif name == "error_message" and self._text is not Text.NONE:
                setattr(value, name, self._message)
            elif name in constants:
                setattr(value, name, constants[name])
        return value

    def put(self, struct: Struct, value: Any, name: str, content: Any) -> None:
        """Set a field if this version has it."""
        if self._has(struct, name):
            setattr(value, name, content)

    def mirror(self, each: Each, context: _Chain, answered: Struct, value: Any) -> None:
        """Fill the array `each.answered` of `value` from the innermost element of `context`."""
        target = _field(answered, each.answered)
        steps = each.asked.split(".")
        asked = context[0][1]
        assert asked is not None
        fields = (target, _field(asked, steps[0]))
        if self._api_version in each.versions and all(self._api_version in f.versions for f in fields):
            answers = getattr(value, each.answered)
            for chain in _elements(context, steps):
                answers.append(self._answer(each, chain, target.struct))
                if self._give_way is not None:
                    self._give_way()

    def _answer(self, each: Each, chain: _Chain, element: Struct) -> Any:
        """Equal answers without own arrays share one object, so that many of them take no memory."""
        contents: dict[str, Any] = {each.key: chain[0][0]} if each.key else {}
        for name in (f.name for f in element.fields if self._is_plain(f) and f.name != each.key):
            source = each.copied.get(name, name if each.same_names else "")
            holder = next((value for value, struct in chain if struct is not None and self._has(struct, source)), None)
            if holder is not None:
                contents[name] = getattr(holder, source)
        if each.inner:
            answer = self._filled(each, element, contents)
            for inner in each.inner:
                self.mirror(inner, chain, element, answer)
            return answer
        self._count += 1
        if self._count == IN_WORDS:
            # Many with a message would be a large answer.
            self._message = None
            self._known.clear()
        key = (each.answered, *contents.values())
        answer = self._known.get(key)
        if answer is None:
            answer = self._filled(each, element, contents)
            if len(self._known) < IN_WORDS:
                self._known[key] = answer
        return answer

    def _filled(self, each: Each, element: Struct, contents: Mapping[str, Any]) -> Any:
        answer = self.new(element, each.constants)
        for name, content in contents.items():
            setattr(answer, name, content)
        return answer

    def _is_plain(self, candidate: Field) -> bool:
        """Whether this version has the field, and a request may have it too."""
        name = candidate.name
        return (
            self._api_version in candidate.versions
            and candidate.struct is None
            and name not in CODE_FIELDS
            and name != "error_message"
        )

    def _has(self, struct: Struct, name: str) -> bool:
        return any(f.name == name and self._api_version in f.versions for f in struct.fields)


def _elements(context: _Chain, steps: list[str]) -> Iterator[_Chain]:
    """The elements at the end of `steps`, each with its enclosing elements, innermost first."""
    value, struct = context[0]
    assert struct is not None
    inner = _field(struct, steps[0]).struct
    for element in getattr(value, steps[0]) or ():
        chain: _Chain = ((element, inner), *context)
        if len(steps) == 1:
            yield chain
        else:
            yield from _elements(chain, steps[1:])


def _field(struct: Struct, name: str) -> Any:
    return next(candidate for candidate in struct.fields if candidate.name == name)
