"""Generates the `.pyi` stubs of classes made at run time: `python -m kafka_zk.protocol.stubs`.

Role        For every module of messages/, and for errors.py, a stub beside it. A test fails when one is stale.
Invariants  The text depends on the declarations only, so that the same tree always gives the same stubs.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

from kafka_zk.protocol import errors, messages
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import RECORDS, Array, Field, FieldType, Struct

_HEADER = "# Written by `python -m kafka_zk.protocol.stubs`; do not edit.\n"
_PYTHON_TYPES = {"float64": "float", "bool": "bool", "uuid": "UUID", "string": "str", "bytes": "Buffer"}


def stubs() -> dict[Path, str]:
    """Every stub's path and text."""
    result = {Path(errors.__file__).with_suffix(".pyi"): _errors_stub()}
    for info in pkgutil.iter_modules(messages.__path__, f"{messages.__name__}."):
        module = importlib.import_module(info.name)
        assert module.__file__ is not None
        result[Path(module.__file__).with_suffix(".pyi")] = _messages_stub(module)
    return result


def _messages_stub(module: ModuleType) -> str:
    declared = {name: value for name, value in vars(module).items() if isinstance(value, Message)}
    shared = {name: value for name, value in vars(module).items() if isinstance(value, Struct)}
    lines: list[str] = []
    written: set[str] = set()
    for message in declared.values():
        # A response may hold slices of files in its records; a request that we decode never does.
        records = "Buffer" if message.name.endswith("Request") else "Records"
        for struct in message.struct.structs():
            if struct.class_name not in written:
                written.add(struct.class_name)
                lines += _class_stub(struct, records)
    body = "\n".join(lines)
    imports: list[str] = []
    if "UUID" in body:
        imports.append("from uuid import UUID\n")
    imports.append("from kafka_zk.protocol.message import Message")
    if shared:
        imports.append("from kafka_zk.protocol.schema import Struct")
    aliases = [alias for alias in ("Buffer", "Records") if f" {alias}" in body]
    if aliases:
        imports.append(f"from kafka_zk.protocol.types import {', '.join(aliases)}")
    imports.append("from kafka_zk.protocol.value import Value")
    constants = [f"{name}: Struct" for name in shared]
    constants += [f"{name}: Message[{message.struct.class_name}]" for name, message in declared.items()]
    return _HEADER + "\n".join(line for line in imports if line) + "\n\n" + "\n".join(constants) + "\n\n" + body + "\n"


def _class_stub(struct: Struct, records: str) -> list[str]:
    lines = [f"class {struct.class_name}(Value):"]
    types = [(field.name, _type_of(field, records)) for field in struct.fields]
    lines += [f"    {name}: {type}" for name, type in types]
    lines += (
        ["    def __init__(", "        self,", "        *,"] if types else ["    def __init__(self) -> None: ...", ""]
    )
    if types:
        lines += [f"        {name}: {type} = ...," for name, type in types]
        lines += ["    ) -> None: ...", ""]
    return lines


def _type_of(field: Field, records: str) -> str:
    text = _plain_type(field.type, records)
    return f"{text} | None" if field.is_nullable else text


def _plain_type(type: FieldType, records: str) -> str:
    if isinstance(type, Array):
        return f"list[{_plain_type(type.element, records)}]"
    if isinstance(type, Struct):
        return type.class_name
    if type is RECORDS:
        return records
    return _PYTHON_TYPES.get(type.name, "int")


def _errors_stub() -> str:
    lines = [
        _HEADER + "from collections.abc import Sequence",
        "from enum import IntEnum",
        "from typing import ClassVar\n",
        "class ErrorCode(IntEnum):",
        *(f"    {code.name} = {code.value}" for code in errors.ErrorCode),
        "",
        "class BrokerError(Exception):",
        "    code: ClassVar[ErrorCode]",
        "    def __init__(self, message: str | None = None) -> None: ...",
        "",
        "class RecordsError(BrokerError):",
        "    record_errors: list[tuple[int, str]]",
        "    def __init__(",
        "        self, message: str | None = None, *, record_errors: Sequence[tuple[int, str]] = ...",
        "    ) -> None: ...",
        "",
    ]
    lines += [f"class {cls.__name__}({cls.__bases__[0].__name__}): ..." for cls in errors.CLASSES.values()]
    lines += [
        "class DecodeError(InvalidRequest): ...",
        "class EncodeError(ValueError): ...",
        "",
        "CLASSES: dict[ErrorCode, type[BrokerError]]",
        "",
        "def is_retriable(code: int) -> bool: ...",
        "def code_of(number: int) -> ErrorCode: ...",
        "def message_of(code: int) -> str: ...",
        "def class_name_of(code_name: str) -> str: ...",
        "def base_of(code_name: str) -> type[BrokerError]: ...",
        "def error_code_for(error: Exception) -> ErrorCode: ...",
        "def error_class_for(code: int) -> type[BrokerError]: ...",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
        print(path.name)


if __name__ == "__main__":
    main()
