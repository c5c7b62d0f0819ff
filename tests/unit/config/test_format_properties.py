"""Properties that were written are read as they were, whatever is in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.config.properties import format_properties, parse_properties

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.dictionaries(TEXT.filter(bool), TEXT, max_size=5))
def test_what_is_written_is_read_again(properties: dict[str, str]) -> None:
    written = format_properties(properties)
    assert written.isascii()
    assert parse_properties(written) == properties


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("listeners", "PLAINTEXT://:9092", "listeners=PLAINTEXT://:9092"),
        ("a key", " a value ", "a\\ key=\\ a value "),
        ("#k=:", "back\\slash\n", "\\#k\\=\\:=back\\\\slash\\n"),
        ("k", "ü€", "k=\\u00fc\\u20ac"),
    ],
)
def test_usual_values_are_written_as_people_write_them(key: str, value: str, line: str) -> None:
    assert format_properties({key: value}) == line + "\n"
