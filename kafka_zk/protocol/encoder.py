"""Compiles a declaration into the function that writes one version of it.

Role        `compile_encoder` writes straight-line Python that appends pieces to a list and joins them once. Runs of
            fixed-width fields, the length byte after them and arrays of numbers among them become one struct.pack.
Invariants  A tagged field that equals its default is not written; tags ascend. A field that this version lacks and
            that may not be ignored raises UnsupportedVersion unless it holds its default.
            What a message cannot hold raises EncodeError: null where null is not allowed, a number out of range.
Source      Kafka 3.9 MessageDataGenerator (generated `write` methods).
"""

from __future__ import annotations

import struct as structs
from collections.abc import Callable
from typing import Any

from kafka_zk.protocol import wire
from kafka_zk.protocol.compiler import Source, is_inline, number_array, tagged_fields
from kafka_zk.protocol.errors import CLASSES, EncodeError, ErrorCode
from kafka_zk.protocol.schema import BOOL, RECORDS, STRING, UUID, Array, Field, Scalar, Struct

Encoder = Callable[[Any], bytes]
PartsEncoder = Callable[[Any], list[Any]]
TurnsEncoder = Callable[[Any, Callable[[], object], int], list[Any]]
"""(object, give_way, most bytes) -> parts, as a PartsEncoder makes them, but smaller ones. Blocks as `give_way` does,
which it calls again and again between the elements of arrays. Raises TooLargeToWrite beyond `most bytes` of its own."""

_BYTES_LIKE = (bytes, bytearray, memoryview)


def compile_encoder(name: str, root: Struct, version: int, *, flexible: bool) -> Encoder:
    """The encoder of one version: object -> bytes."""
    source = write_encoder(name, root, version, flexible=flexible, in_parts=False)
    encoder: Encoder = source.compile("encode", f"<encoder of {name} v{version}>")
    return encoder


def compile_parts_encoder(name: str, root: Struct, version: int, *, flexible: bool) -> PartsEncoder:
    """The encoder of one version that leaves slices of files as they are: object -> [bytes, slice, slice, bytes]."""
    source = write_encoder(name, root, version, flexible=flexible, in_parts=True)
    encoder: PartsEncoder = source.compile("encode", f"<parts encoder of {name} v{version}>")
    return encoder


def compile_turns_encoder(name: str, root: Struct, version: int, *, flexible: bool) -> TurnsEncoder:
    """The encoder of one version that gives way: (object, give_way, most bytes) -> [bytes, slice, slice, bytes]."""
    source = write_encoder(name, root, version, flexible=flexible, in_parts=True, in_turns=True)
    encoder: TurnsEncoder = source.compile("encode", f"<turns encoder of {name} v{version}>")
    return encoder


class Written:
    """What is written so far, in turns. `pieces` come to 16 bytes or more on average."""

    __slots__ = ("_give_way", "_left_bytes", "_parts", "_pieces")

    def __init__(self, pieces: list[bytes], parts: list[Any], give_way: Callable[[], object], most_bytes: int) -> None:
        self._pieces = pieces
        self._parts = parts
        self._give_way = give_way
        self._left_bytes = most_bytes

    def element(self) -> None:
        """Blocks as `give_way` does. To be called after each element of an array."""
        if len(self._pieces) >= wire.PART_BYTES // 16:
            self.end_part()
        self._give_way()

    def end_part(self) -> None:
        """Raises TooLargeToWrite."""
        if self._pieces:
            part = b"".join(self._pieces)
            self._left_bytes -= len(part)
            if self._left_bytes < 0:
                raise wire.size_error()
            self._pieces.clear()
            self._parts.append(part)


def write_encoder(
    name: str, root: Struct, version: int, *, flexible: bool, in_parts: bool, in_turns: bool = False
) -> Source:
    """The source of one version's encoder."""
    writer = _EncoderWriter(version, flexible, in_parts)
    writer.in_turns = in_turns
    source = writer.source
    with source.block("def encode(o, give_way, most_bytes):" if in_turns else "def encode(o):"):
        source.line("out = []")
        if in_parts:
            source.line("parts = []")
        if in_turns:
            source.line(f"written = {source.share('Written', Written)}(out, parts, give_way, most_bytes)")
        with source.block("try:"):
            writer.write_struct(root, "o")
            if in_turns:
                source.line("written.end_part()")
                source.line("return parts")
            elif in_parts:
                with source.block("if out:"):
                    source.line("parts.append(b''.join(out))")
                source.line("return parts")
            else:
                source.line("return b''.join(out)")
        with source.block("except (struct_error, TypeError, AttributeError, UnicodeEncodeError) as error:"):
            source.line(f"raise EncodeError(f'Error writing {name} v{version}: {{error}}') from error")
    if writer.helpers is not None:
        source.prepend(writer.helpers)
    return source


class _EncoderWriter:
    """Writes the statements that append one value after another.

    `_run` are fixed-width values not yet written: (struct format, expression), or ("[i", name) for an array of
    numbers. `{name}_n` then holds its length.
    """

    def __init__(self, version: int, flexible: bool, in_parts: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.in_parts = in_parts
        self.in_turns = False
        self.helpers: Source | None = None
        self.source = Source()
        self.source.names.update(
            struct_error=structs.error,
            EncodeError=EncodeError,
            UnsupportedVersion=CLASSES[ErrorCode.UNSUPPORTED_VERSION],
            BYTES_LIKE=_BYTES_LIKE,
            SMALL_UVARINTS=wire.SMALL_UVARINTS,
            uvarint=wire.uvarint,
            string_length=wire.string_length,
        )
        self._run: list[tuple[str, str]] = []

    def write_struct(self, struct: Struct, value: str) -> None:
        """Write all of a struct, its tag section included, and the pending run."""
        for field in struct.fields:
            expression = f"{value}.{field.name}"
            if is_inline(field, self.version):
                self._write_field(field, expression)
            elif self.version not in field.versions and not field.ignorable:
                with self.source.block(f"if {self._differs_from_default(field, expression)}:"):
                    message = f"Attempted to write a non-default {field.name} at version {self.version}"
                    self.source.line(f"raise UnsupportedVersion({message!r})")
        if self.flexible:
            self._write_tags(struct, value)
        self._flush()

    def _write_field(self, field: Field, expression: str) -> None:
        nullable = self.version in field.nullable
        type = field.type
        if isinstance(type, Array):
            self._write_array(type, expression, nullable=nullable)
        elif isinstance(type, Struct):
            self._write_single_struct(type, expression, nullable=nullable)
        else:
            self._write_scalar(type, expression, nullable=nullable)

    def _write_scalar(self, type: Scalar, expression: str, *, nullable: bool) -> None:
        source = self.source
        if type is UUID:
            self._run.append(("16s", f"{expression}.bytes"))
        elif type is BOOL:
            self._run.append(("?", expression))
        elif type.fixed is not None:
            self._run.append((type.fixed, expression))
        else:
            value = source.name("x")
            source.line(f"{value} = {expression}")
            if nullable:
                with source.block(f"if {value} is None:"):
                    self._flush(keep=True, extra=self._null(type is STRING))
                with source.block("else:"):
                    self._write_content(type, value)
                self._run.clear()
            else:
                self._write_content(type, value)

    def _null(self, short: bool) -> tuple[str, str]:
        if self.flexible:
            return ("B", "0")
        return ("h" if short else "i", "-1")

    def _write_content(self, type: Scalar, value: str) -> None:
        """A string's or payload's length, together with the pending run, and then itself."""
        source = self.source
        if type is RECORDS and self.in_parts:
            with source.block(f"if isinstance({value}, BYTES_LIKE):"):
                source.line(f"n = len({value})")
            with source.block("else:"):
                source.line(f"n = sum([piece.size_bytes for piece in {value}])")
            self._flush_with_length("i", "uvarint")
            with source.block(f"if isinstance({value}, BYTES_LIKE):"):
                source.line(f"out.append({value})")
            with source.block(f"elif {value}:"):
                if self.in_turns:
                    source.line("written.end_part()")
                    source.line(f"parts.extend({value})")
                else:
                    source.line("parts.append(b''.join(out))")
                    source.line(f"parts.extend({value})")
                    source.line("out.clear()")
        elif type is STRING:
            source.line(f"{value} = {value}.encode()")
            source.line(f"n = len({value})")
            self._flush_with_length("h", "string_length")
            source.line(f"out.append({value})")
        else:
            source.line(f"n = len({value})")
            self._flush_with_length("i", "uvarint")
            source.line(f"out.append({value})")

    def _flush_with_length(self, fixed: str, compact: str) -> None:
        """Write the run and the length or count `n` behind it. Compact lengths fit one byte nearly always."""
        if not self.flexible:
            self._flush(extra=(fixed, "n"))
            return
        with self.source.block("if n < 127:"):
            self._flush(keep=True, extra=("B", "n + 1"))
        with self.source.block("else:"):
            self._flush()
            self.source.line(f"out.append({compact}(n + 1))")

    def _write_array(self, type: Array, expression: str, *, nullable: bool) -> None:
        source = self.source
        items = source.name("items")
        source.line(f"{items} = {expression}")
        fixed = number_array(type)
        if fixed is not None and not nullable:
            source.line(f"{items}_n = len({items})")
            self._run.append((f"[{fixed}", items))
        elif nullable:
            with source.block(f"if {items} is None:"):
                self._flush(keep=True, extra=self._null(short=False))
            with source.block("else:"):
                self._write_elements(type, items)
            self._run.clear()
        else:
            self._write_elements(type, items)

    def _write_elements(self, type: Array, items: str) -> None:
        source = self.source
        source.line(f"n = len({items})")
        self._flush_with_length("i", "uvarint")
        fixed = number_array(type)
        if fixed is not None:
            source.line(f"out.append({source.share('pack', structs.pack)}(f'>{{n}}{fixed}', *{items}))")
            return
        element = source.name("e")
        with source.block(f"for {element} in {items}:"):
            if isinstance(type.element, Struct):
                self.write_struct(type.element, element)
            else:
                self._write_scalar(type.element, element, nullable=False)
            self._flush()
            if self.in_turns:
                source.line("written.element()")

    def _write_single_struct(self, type: Struct, expression: str, *, nullable: bool) -> None:
        source = self.source
        value = source.name("o")
        source.line(f"{value} = {expression}")
        if not nullable:
            self.write_struct(type, value)
            return
        with source.block(f"if {value} is None:"):
            self._flush(keep=True, extra=("b", "-1"))
        with source.block("else:"):
            self._run.append(("b", "1"))
            self.write_struct(type, value)
        self._run.clear()

    def _write_tags(self, struct: Struct, value: str) -> None:
        fields = tagged_fields(struct, self.version)
        if not fields:
            self._run.append(("B", "0"))
            return
        source = self.source
        differs = [self._differs_from_default(field, f"{value}.{field.name}") for field in fields]
        helper = self._tags_helper(fields)
        with source.block(f"if {' or '.join(differs)}:"):
            self._flush(keep=True)
            source.line(f"out.append({helper}({value}))")
        with source.block("else:"):
            self._flush(extra=("B", "0"))

    def _tags_helper(self, fields: list[Field]) -> str:
        """A function that returns an object's tag section; returns the function's name."""
        inner = _EncoderWriter(self.version, self.flexible, in_parts=False)
        inner.source = self.source.sibling()
        source = inner.source
        name = source.name("tags_of_")
        with source.block(f"def {name}(o):"):
            source.line("tags = []")
            for field in fields:
                with source.block(f"if {inner._differs_from_default(field, f'o.{field.name}')}:"):
                    source.line("out = []")
                    inner._write_field(field, f"o.{field.name}")
                    inner._flush()
                    source.line("data = b''.join(out)")
                    source.line(f"tags += uvarint({field.tag}), uvarint(len(data)), data")
            source.line("return uvarint(len(tags) // 3) + b''.join(tags)")
        if inner.helpers is not None:
            source.prepend(inner.helpers)
        if self.helpers is None:
            self.helpers = source
        else:
            self.helpers.prepend(source)
        return name

    def _differs_from_default(self, field: Field, expression: str) -> str:
        """A condition: the field holds something that must not be lost."""
        if field.has_fresh_default:
            if isinstance(field.type, Array):
                return f"({expression} is None or len({expression}))" if field.is_nullable else f"{expression}"
            assert isinstance(field.type, Struct)
            inner = [self._differs_from_default(part, f"{expression}.{part.name}") for part in field.type.fields]
            return f"({' or '.join(inner)})"
        if field.default is None:
            return f"{expression} is not None"
        if isinstance(field.default, (int, str, bytes)):
            return f"{expression} != {field.default!r}"
        return f"{expression} != {self.source.bind('default', field.default)}"

    def _flush(self, *, keep: bool = False, extra: tuple[str, str] | None = None) -> None:
        """Write the pending run and `extra` as one pack. `keep`: another branch will write the same run again."""
        run = [*self._run, extra] if extra else self._run[:]
        if not keep:
            self._run.clear()
        if not run:
            return
        source = self.source
        if any(format.startswith("[") for format, _ in run):
            self._flush_with_arrays(run)
        elif all(expression.isdigit() or expression == "-1" for _, expression in run):
            constant = structs.pack(">" + "".join(format for format, _ in run), *(int(text) for _, text in run))
            source.line(f"out.append({constant!r})")
        elif len(run) == 1 and run[0][0] == "B":
            source.line(f"out.append(SMALL_UVARINTS[{run[0][1]}])")
        else:
            formats = "".join(format for format, _ in run)
            pack = source.share(f"pack_{formats.replace('?', 'o')}", structs.Struct(f">{formats}").pack)
            source.line(f"out.append({pack}({', '.join(expression for _, expression in run)}))")

    def _flush_with_arrays(self, run: list[tuple[str, str]]) -> None:
        pieces, fixed, lengths, arguments = [""], [], [], []
        for format, expression in run:
            if format.startswith("["):
                fixed.append(format[1:])
                lengths.append(f"{expression}_n")
                arguments += [f"{expression}_n + 1" if self.flexible else f"{expression}_n", f"*{expression}"]
                pieces.append("")
            else:
                pieces[-1] += format
                arguments.append(expression)
        packers = wire.PackersByLength(tuple(pieces), tuple(fixed), compact=self.flexible)
        table = self.source.bind("packers", packers)
        self.source.line(f"out.append({table}[{', '.join(lengths)}]({', '.join(arguments)}))")
