"""kafka-configs.sh, as far as nobody is asked: whom a command line is about, what it changes, what it cannot mean."""

from __future__ import annotations

import pytest

from kafka_zk.client.admin.quotas import ClientQuotaEntity
from kafka_zk.client.admin.scram import ScramMechanism
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.common.options import Options, UsageError
from kafka_zk.tools.configs.changes import to_add, to_delete
from kafka_zk.tools.configs.options import OPTIONS, Entities, check
from kafka_zk.tools.configs.quotas import _entity_hash
from kafka_zk.tools.configs.scram import iterations_and_password, stored_credential

USERS, CLIENTS = "--entity-type users", "--entity-type clients"


def options(*arguments: str) -> Options:
    return Options(OPTIONS, arguments)


def add(text: str) -> dict[str, str]:
    return to_add(options("--add-config", text))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--topic t", Entities(["topics"], ["t"])),
        (f"{USERS} --entity-default {CLIENTS} --entity-name c", (["users", "clients"], ["", "c"])),
        (f"{CLIENTS} --entity-name c {USERS} --entity-default", (["clients", "users"], ["c", ""])),
        ("--client c --user u", (["clients", "users"], ["c", "u"])),
        ("--user-defaults --client c", (["clients", "users"], ["c", ""])),
        ("--entity-type brokers", (["brokers"], [])),
    ],
)  # fmt: skip
def test_whom_a_command_line_is_about(arguments: str, expected: Entities) -> None:
    found = check(options("--bootstrap-server", "B", "--describe", *arguments.split()))
    assert found == Entities(*expected)


def test_one_action() -> None:
    with pytest.raises(UsageError, match="exactly one action"):
        check(options("--topic", "t"))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=1", {"a": "1"}),
        ("a=1,b=[2,3],c=4", {"a": "1", "b": "2,3", "c": "4"}),
        (" a = 1 , b= 2", {"a": "1", "b": "2"}),
        ("a=", {"a": ""}),
        ("SCRAM-SHA-256=[iterations=5000,password=p]", {"SCRAM-SHA-256": "iterations=5000,password=p"}),
        ("a=1,", {"a": "1"}),
    ],
)
def test_what_is_added(text: str, values: dict[str, str]) -> None:
    assert add(text) == values


@pytest.mark.parametrize(
    ("text", "said"), [("a", "in the format"), ("a=b=c", "in the format"), ("b d=1", "Invalid character found")]
)
def test_what_cannot_be_added(text: str, said: str) -> None:
    with pytest.raises(JavaError, match=said):
        add(text)


def test_what_is_deleted() -> None:
    assert to_delete(options("--delete-config", "a, b,,c", "--delete-config", "d")) == ["a", "b", "c", "d"]


def test_a_credential_of_a_command_line() -> None:
    assert iterations_and_password("SCRAM-SHA-256", "iterations=8192,password=a=b") == (8192, "a=b")
    assert iterations_and_password("SCRAM-SHA-256", "password=x") == (4096, "x")
    assert iterations_and_password("SCRAM-SHA-256", "iterations=-1,password=x") == (4096, "x")
    with pytest.raises(JavaError, match="Iterations 1 is less than the minimum 4096 required for SCRAM-SHA-256"):
        iterations_and_password("SCRAM-SHA-256", "iterations=1,password=x")


def test_a_stored_credential_names_all_that_a_broker_needs() -> None:
    stored = stored_credential(ScramMechanism.SCRAM_SHA_512, "word", 4096)
    fields = dict(part.partition("=")[::2] for part in stored.split(","))
    assert list(fields) == ["salt", "stored_key", "server_key", "iterations"]
    assert fields["iterations"] == "4096"
    assert "word" not in stored


def test_entities_have_javas_hash_code() -> None:
    # new ClientQuotaEntity(Map.of("user", "alice")).hashCode(), as Java computes it: 31 + ("user" ^ "alice").
    assert _entity_hash(ClientQuotaEntity.of({"user": "alice"})) == (31 + (3599307 ^ 92903040)) & 0xFFFFFFFF
