"""Names in paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.zk.znodes import desanitize, entities_of, entity_path, sanitize, sequence_number
from kafka_zk.zk.znodes.names import may_be_znode


@pytest.mark.parametrize(
    ("name", "sanitized"),
    [
        ("ali ce", "ali%20ce"),
        ("app/1", "app%2F1"),
        ("bob=1@x y", "bob%3D1%40x%20y"),
        ("ali ce~*+/x.-_é", "ali%20ce%7E%2A%2B%2Fx.-_%C3%A9"),
    ],
)
def test_names_are_sanitized_as_apache_does(name: str, sanitized: str) -> None:
    assert sanitize(name) == sanitized
    assert desanitize(sanitized) == name


@pytest.mark.parametrize("name", ["a b", "...", "a/b", "x" * 250, "\ud7ff", "ä"])
def test_what_zookeeper_takes_as_a_path(name: str) -> None:
    assert may_be_znode(name)


@pytest.mark.parametrize("name", ["", ".", "..", "/", "a/", "a//b", "a/./b", "a\0", "\x7f", "\ue000", "\ufff5", "🙂"])
def test_what_zookeeper_refuses_as_a_path(name: str) -> None:
    assert not may_be_znode(name)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_sanitized_name_is_one_path_element_and_reads_back(name: str) -> None:
    assert "/" not in sanitize(name)
    assert desanitize(sanitize(name)) == name


def test_the_default_entity_is_not_an_entity_of_that_name() -> None:
    assert entity_path(("users", "ali ce"), ("clients", None)) == "users/ali%20ce/clients/<default>"
    assert entity_path(("users", "<default>")) == "users/%3Cdefault%3E"
    assert entities_of("users/<default>/clients/a%2Fb") == [("users", None), ("clients", "a/b")]


def test_an_entity_path_has_pairs() -> None:
    with pytest.raises(ValueError, match="not an entity path"):
        entities_of("users")


def test_sequence_numbers_are_the_last_ten_digits() -> None:
    assert sequence_number("config_change_0000000014") == 14
