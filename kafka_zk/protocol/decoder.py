"""Compiles a declaration into the function that reads one version of it.

Role        `compile_decoder` writes straight-line Python: one struct.unpack_from for each run of fixed-width
            fields (a following length byte included), attributes set directly on slots objects.
Invariants  Whatever the bytes, the function returns an object or raises DecodeError. Positions only grow, so a
            text or payload cut short is found by the one check of the position at the end. A count is compared
            with the bytes that are left before its list is made.
            Bytes after the message are not looked at; unknown tags are skipped; a known tag's size is not checked;
            invalid UTF-8 becomes U+FFFD: all as Kafka's own classes do.
Source      Kafka 3.9 MessageDataGenerator (generated `read` methods), ByteBufferAccessor.
"""

from __future__ import annotations

import struct as structs
from collections.abc import Callable
from typing import Any

from kafka_zk.protocol import wire
from kafka_zk.protocol.compiler import Source, is_inline, number_array, tagged_fields
from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.schema import BYTES, RECORDS, STRING, UUID, Array, Field, Scalar, Struct
from kafka_zk.protocol.types import Buffer, uuid_from_bytes

Decoder = Callable[[Buffer, int], tuple[Any, int]]
TurnsDecoder = Callable[[Buffer, int, Callable[[], object]], tuple[Any, int]]
"""Blocks as its last argument does, which it calls again and again between the elements of arrays.

All empty arrays are one list, since a large request may have very many of them. Decoded lists are never modified.
"""


def compile_decoder(name: str, root: Struct, version: int, *, flexible: bool) -> Decoder:
    """The decoder of one version: (buffer, position) -> (object, next position)."""
    source = write_decoder(name, root, version, flexible=flexible)
    decoder: Decoder = source.compile("decode", f"<decoder of {name} v{version}>")
    return decoder


def compile_turns_decoder(name: str, root: Struct, version: int, *, flexible: bool) -> TurnsDecoder:
    """The same in turns: (buffer, position, give_way) -> (object, next position)."""
    source = write_decoder(name, root, version, flexible=flexible, in_turns=True)
    decoder: TurnsDecoder = source.compile("decode", f"<turns decoder of {name} v{version}>")
    return decoder


def write_decoder(name: str, root: Struct, version: int, *, flexible: bool, in_turns: bool = False) -> Source:
    """The source of one version's decoder."""
    writer = _DecoderWriter(version, flexible)
    writer.in_turns = in_turns
    source = writer.source
    with source.block("def decode(buf, pos, give_way):" if in_turns else "def decode(buf, pos):"):
        source.line("end = len(buf)")
        if in_turns:
            source.line("empty = []")
        with source.block("if pos < 0:"):
            source.line(f"raise DecodeError(f'Error reading {name} v{version}: it cannot start at {{pos}}')")
        if _has_records(root):
            source.line("view = memoryview(buf)")
        with source.block("try:"):
            value = writer.read_struct(root)
        with source.block("except (struct_error, IndexError) as error:"):
            source.line(f"raise DecodeError(f'Error reading {name} v{version} of {{end}} bytes: {{error}}') from error")
        with source.block("if pos > end:"):
            source.line(f"raise DecodeError(f'Error reading {name} v{version}: {{pos - end}} bytes are missing')")
        source.line(f"return {value}, pos")
    if writer.helpers is not None:
        source.prepend(writer.helpers)
    return source


def _has_records(root: Struct) -> bool:
    return any(field.type is RECORDS for struct in root.structs() for field in struct.fields)


_READ: dict[Scalar, str] = {
    STRING: "str(buf[pos:stop], 'utf-8', 'replace')",
    # They are small as a rule; a view would be larger and keep the frame alive.
    BYTES: "bytes(buf[pos:stop])",
    RECORDS: "view[pos:stop]",
}


class _DecoderWriter:
    """Writes the statements that read one value after another. `_run` are fixed-width reads not yet written."""

    def __init__(self, version: int, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.in_turns = False
        self.helpers: Source | None = None
        self.source = Source()
        self.source.names.update(
            new=object.__new__,
            struct_error=structs.error,
            DecodeError=DecodeError,
            skip_tags=wire.skip_tags,
            read_uvarint=wire.read_uvarint,
            rest_of_uvarint=wire.rest_of_uvarint,
            rest_of_string_length=wire.rest_of_string_length,
            null_error=wire.null_error,
            count_error=wire.count_error,
            uuid_from_bytes=uuid_from_bytes,
        )
        self._run: list[tuple[str, str]] = []

    def read_struct(self, struct: Struct) -> str:
        """Read a struct into a new object; returns the object's name."""
        source = self.source
        cls = source.bind("Class", struct.value_class)
        value = source.name("o")
        source.line(f"{value} = new({cls})")
        for field in struct.fields:
            if is_inline(field, self.version):
                self._read_field(field, f"{value}.{field.name}")
            else:
                self._set_default(field, f"{value}.{field.name}")
        if self.flexible:
            self._read_tags(struct, value)
        self._flush()
        return value

    def _set_default(self, field: Field, target: str) -> None:
        if field.has_fresh_default:
            if isinstance(field.type, Array):
                self.source.line(f"{target} = []")
            else:
                assert isinstance(field.type, Struct)
                self.source.line(f"{target} = {self.source.bind('Class', field.type.value_class)}()")
        elif field.default is None or isinstance(field.default, (int, str, bytes)):
            self.source.line(f"{target} = {field.default!r}")
        else:
            self.source.line(f"{target} = {self.source.bind('default', field.default)}")

    def _read_field(self, field: Field, target: str) -> None:
        nullable = self.version in field.nullable
        type = field.type
        if isinstance(type, Array):
            self._read_array(field, type, target, nullable=nullable)
        elif isinstance(type, Struct):
            self._read_single_struct(type, target, nullable=nullable)
        else:
            self._read_scalar(type, target, name=field.name, nullable=nullable)

    def _read_scalar(self, type: Scalar, target: str, *, name: str, nullable: bool) -> None:
        source = self.source
        if type is UUID:
            raw = source.name("u")
            self._run.append(("16s", raw))
            self._flush()
            source.line(f"{target} = uuid_from_bytes({raw})")
        elif type.fixed is not None:
            self._run.append((type.fixed, target))
        else:
            # From here `n` is the length (of the compact form: plus one) and "null" is negative or zero.
            read = _READ[type]
            if self.flexible:
                self._compact_length("rest_of_string_length" if type is STRING else "rest_of_uvarint")
                absent, stop = "not n", "pos + n - 1"
            else:
                self._run.append(("h" if type is STRING else "i", "n"))
                self._flush()
                absent, stop = "n < 0", "pos + n"
            if nullable:
                with source.block(f"if {absent}:"):
                    source.line(f"{target} = None")
                with source.block("else:"):
                    source.line(f"stop = {stop}")
                    source.line(f"{target} = {read}")
                    source.line("pos = stop")
            else:
                with source.block(f"if {absent}:"):
                    source.line(f"raise null_error({name!r})")
                source.line(f"stop = {stop}")
                source.line(f"{target} = {read}")
                source.line("pos = stop")

    def _compact_length(self, rest: str) -> None:
        """Set `n` to the unsigned varint that comes next; its first byte joins the run."""
        self._run.append(("B", "n"))
        self._flush()
        with self.source.block("if n > 127:"):
            self.source.line(f"n, pos = {rest}(buf, pos, n)")

    def _read_array(self, field: Field, type: Array, target: str, *, nullable: bool) -> None:
        source = self.source
        if self.flexible:
            self._compact_length("rest_of_uvarint")
            source.line("n -= 1")
        else:
            self._run.append(("i", "n"))
            self._flush()
        if nullable:
            with source.block("if n < 0:"):
                source.line(f"{target} = None")
            with source.block("else:"):
                self._read_elements(type, target, field.name)
        else:
            with source.block("if n < 0:"):
                source.line(f"raise null_error({field.name!r})")
            self._read_elements(type, target, field.name)

    def _read_elements(self, type: Array, target: str, name: str) -> None:
        """Read `n` elements into a new list."""
        source = self.source
        with source.block("if n > end - pos:"):
            source.line("raise count_error(n, end - pos)")
        if self.in_turns:
            with source.block("if n == 0:"):
                source.line(f"{target} = empty")
            with source.block("else:"):
                self._read_each(type, target, name)
        else:
            self._read_each(type, target, name)

    def _read_each(self, type: Array, target: str, name: str) -> None:
        source = self.source
        fixed = number_array(type)
        if fixed is not None:
            unpackers = source.share(f"unpackers_{fixed}", _UNPACKERS[fixed])
            source.line(f"{target} = list({unpackers}[n](buf, pos))")
            size = structs.calcsize(f">{fixed}")
            source.line(f"pos += n * {size}" if size > 1 else "pos += n")
            return
        items = source.name("items")
        source.line(f"{target} = {items} = []")
        with source.block("for _ in range(n):"):
            if isinstance(type.element, Struct):
                value = self.read_struct(type.element)
                source.line(f"{items}.append({value})")
            else:
                self._read_scalar(type.element, "item", name=name, nullable=False)
                self._flush()
                source.line(f"{items}.append(item)")
            if self.in_turns:
                source.line("give_way()")

    def _read_single_struct(self, type: Struct, target: str, *, nullable: bool) -> None:
        source = self.source
        if not nullable:
            source.line(f"{target} = {self.read_struct(type)}")
            return
        self._run.append(("b", "n"))
        self._flush()
        with source.block("if n < 0:"):
            source.line(f"{target} = None")
        with source.block("else:"):
            source.line(f"{target} = {self.read_struct(type)}")

    def _read_tags(self, struct: Struct, value: str) -> None:
        fields = tagged_fields(struct, self.version)
        call = f"pos = {self._tags_helper(fields)}({value}, buf, pos, n)" if fields else "pos = skip_tags(buf, pos, n)"
        self._run.append(("B", "n"))
        self._flush()
        with self.source.block("if n:"):
            self.source.line(call)

    def _tags_helper(self, fields: list[Field]) -> str:
        """A function that reads a tag section with known tags into an object; returns its name."""
        inner = _DecoderWriter(self.version, self.flexible)
        inner.source = self.source.sibling()
        source = inner.source
        name = source.name("read_tags_")
        with source.block(f"def {name}(o, buf, pos, n):"):
            source.line("end = len(buf)")
            source.line("view = memoryview(buf)")
            with source.block("if n > 127:"):
                source.line("n, pos = rest_of_uvarint(buf, pos, n)")
            with source.block("for _ in range(n):"):
                source.line("tag, pos = read_uvarint(buf, pos)")
                source.line("size, pos = read_uvarint(buf, pos)")
                for index, field in enumerate(fields):
                    with source.block(f"{'elif' if index else 'if'} tag == {field.tag}:"):
                        inner._read_field(field, f"o.{field.name}")
                        inner._flush()
                with source.block("else:"):
                    source.line("pos += size")
            source.line("return pos")
        if inner.helpers is not None:
            source.prepend(inner.helpers)
        if self.helpers is None:
            self.helpers = source
        else:
            self.helpers.prepend(source)
        return name

    def _flush(self) -> None:
        """Write the pending run as one unpack."""
        if not self._run:
            return
        formats = "".join(format for format, _ in self._run)
        targets = [target for _, target in self._run]
        self._run.clear()
        if formats == "B":
            self.source.line(f"{targets[0]} = buf[pos]")
        else:
            unpack = self.source.share(
                f"unpack_{formats.replace(chr(63), chr(111))}", structs.Struct(f">{formats}").unpack_from
            )
            trailing = "," if len(targets) == 1 else ""
            self.source.line(f"{', '.join(targets)}{trailing} = {unpack}(buf, pos)")
        self.source.line(f"pos += {structs.calcsize('>' + formats)}")


_UNPACKERS = {fixed: wire.Unpackers(fixed) for fixed in "bhHiqd"}
