"""Every declaration against Kafka's own JSON definitions."""

from __future__ import annotations

from typing import Any

from kafka_zk.protocol.schema import Array, Field, Struct, Versions
from kafka_zk.protocol.types import NULL_UUID

from .golden import API_TABLE, all_messages, definitions, snake


def kafka_default(field: dict[str, Any]) -> Any:
    """The default that Kafka's generator gives a field, [] for arrays and None for null."""
    type_name, text = field["type"], field.get("default")
    if text == "null":
        return None
    if type_name.startswith("[]"):
        return []
    if type_name == "string":
        return text or ""
    if type_name == "bool":
        return str(text).lower() == "true"
    if type_name == "float64":
        return float(text or 0)
    if type_name.startswith(("int", "uint")):
        return int(str(text or 0), 0)
    return {"uuid": NULL_UUID, "bytes": b"", "records": None}.get(type_name, "fresh struct")


def our_default(field: Field) -> Any:
    if field.has_fresh_default:
        return [] if isinstance(field.type, Array) else "fresh struct"
    return field.default


def type_name(field: Field) -> str:
    inner = field.type.element if isinstance(field.type, Array) else field.type
    return ("[]" if isinstance(field.type, Array) else "") + inner.name


def facts(field: Field) -> dict[str, Any]:
    return {
        "name": field.name,
        "type": type_name(field),
        "versions": field.versions,
        "nullable": field.nullable,
        "default": our_default(field),
        "tag": field.tag,
        "ignorable": field.ignorable,
    }


def kafka_facts(field: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": snake(field["name"]),
        "type": field["type"],
        "versions": Versions.parse(field["versions"]),
        "nullable": Versions.parse(field.get("nullable", "none")),
        "default": kafka_default(field),
        "tag": field.get("tag"),
        "ignorable": field.get("ignorable", False),
    }


def assert_same(ours: Struct, theirs: list[dict[str, Any]], path: str) -> None:
    assert [facts(field) for field in ours.fields] == [kafka_facts(field) for field in theirs], path
    for field, kafka_field in zip(ours.fields, theirs, strict=True):
        if field.struct is not None:
            assert_same(field.struct, kafka_field["fields"], f"{path}.{field.name}")


def test_names_order_types_versions_defaults_and_tags_are_kafkas():
    for message in all_messages():
        kafka = definitions()[message.name]
        assert message.api_key == kafka["api_key"], message
        assert message.versions == Versions.parse(kafka["versions"]), message
        assert message.flexible_from == Versions.parse(kafka["flexible"]).low, message
        assert_same(message.struct, kafka["fields"], message.name)


def test_nothing_of_the_golden_definitions_is_missing():
    assert {message.name for message in all_messages()} == set(definitions())


def test_the_api_table_repeats_the_declarations():
    for api in API_TABLE.values():
        for message, kind in ((api.request, "Request"), (api.response, "Response")):
            assert message.name == f"{api.name}{kind}"
            assert (message.api_key, message.versions) == (api.key, api.versions)
            assert message.flexible_from == api.flexible_from


def test_no_two_classes_of_a_module_share_a_name():
    for api in API_TABLE.values():
        classes: dict[str, type] = {}
        for struct in [*api.request.struct.structs(), *api.response.struct.structs()]:
            assert classes.setdefault(struct.class_name, struct.value_class) is struct.value_class, struct
