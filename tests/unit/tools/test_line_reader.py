"""A line becomes a record."""

from __future__ import annotations

import pytest

from kafka_zk.client.errors import KafkaException
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.console_producer.line_reader import LineMessageReader, LineRecord

KEYED = {"parse.key": "true", "key.separator": ":"}
HEADED = {"parse.headers": " TRUE "}


def read(line: str, **properties: str) -> LineRecord:
    return next(LineMessageReader(properties).read([line.encode()]))


@pytest.mark.parametrize(
    ("properties", "line", "record"),
    [
        ({}, "a\tb", LineRecord(None, b"a\tb")),
        ({}, "", LineRecord(None, b"")),
        ({"null.marker": "NULL"}, "NULL", LineRecord(None, None)),
        (KEYED, "k:v:x", LineRecord(b"k", b"v:x")),
        (KEYED, ":", LineRecord(b"", b"")),
        ({**KEYED, "ignore.error": "true"}, "no separator", LineRecord(None, b"no separator")),
        ({**KEYED, "null.marker": "-"}, "-:-", LineRecord(None, None)),
        ({**KEYED, "key.separator": ""}, "kv", LineRecord(b"", b"kv")),
        ({"parse.key": "yes"}, "k\tv", LineRecord(None, b"k\tv")),
        (HEADED, "a:1,b:2\tv", LineRecord(None, b"v", (("a", b"1"), ("b", b"2")))),
        (HEADED, "a:1,,\tv", LineRecord(None, b"v", (("a", b"1"),))),
        (HEADED, "a::1\tv", LineRecord(None, b"v", (("a", b":1"),))),
        ({**HEADED, "parse.key": "true"}, "a:1\tk\tv", LineRecord(b"k", b"v", (("a", b"1"),))),
        ({**HEADED, "null.marker": "-"}, "-\tv", LineRecord(None, b"v")),
        ({**HEADED, "null.marker": "-"}, "a:-\tv", LineRecord(None, b"v", (("a", None),))),
        ({**HEADED, "ignore.error": "true"}, "a\tv", LineRecord(None, b"v", (("a", None),))),
        ({**HEADED, "ignore.error": "true"}, "v", LineRecord(None, b"v")),
        (
            {**HEADED, "headers.separator": "[;|]"},
            "a:1;b:2|c:3\tv",
            LineRecord(None, b"v", (("a", b"1"), ("b", b"2"), ("c", b"3"))),
        ),
        ({**HEADED, "headers.key.separator": "=>"}, "a=>1\tv", LineRecord(None, b"v", (("a", b"1"),))),
        (KEYED, "ключ:é", LineRecord("ключ".encode(), "é".encode())),
    ],
)
def test_parts_are_found_by_their_separators(properties: dict[str, str], line: str, record: LineRecord) -> None:
    assert read(line, **properties) == record


@pytest.mark.parametrize(
    ("properties", "line", "message"),
    [
        (KEYED, "nosep", "No key separator found on line number 1: 'nosep'"),
        (HEADED, "nosep", "No headers delimiter found on line number 1: 'nosep'"),
        (HEADED, "a\tv", "No header key separator found in pair 'a' on line number 1"),
        (HEADED, "\tv", "No header key separator found in pair '' on line number 1"),
        (
            {**HEADED, "null.marker": "-"},
            "-:1\tv",
            "Header keys should not be equal to the null marker '-' as they can't be null",
        ),
    ],
)
def test_a_line_without_its_parts_is_refused(properties: dict[str, str], line: str, message: str) -> None:
    with pytest.raises(KafkaException) as caught:
        read(line, **properties)
    assert str(caught.value) == message


def test_lines_are_counted() -> None:
    records = LineMessageReader(KEYED).read([b"a:1", b"b:2", b"wrong"])
    assert [next(records).key, next(records).key] == [b"a", b"b"]
    with pytest.raises(KafkaException, match="on line number 3: 'wrong'"):
        next(records)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"headers.delimiter": ","}, "headers.delimiter and headers.separator may not be equal"),
        ({"headers.delimiter": ":"}, "headers.delimiter and headers.key.separator may not be equal"),
        ({"headers.separator": ":"}, "headers.separator and headers.key.separator may not be equal"),
        ({"null.marker": "\t"}, "null.marker and key.separator may not be equal"),
        ({"null.marker": ","}, "null.marker and headers.separator may not be equal"),
        ({"null.marker": ":"}, "null.marker and headers.key.separator may not be equal"),
        ({"null.marker": "\t", "key.separator": ";"}, "null.marker and headers.delimiter may not be equal"),
    ],
)
def test_separators_that_cannot_be_told_apart_are_refused(properties: dict[str, str], message: str) -> None:
    with pytest.raises(KafkaException) as caught:
        LineMessageReader(properties)
    assert str(caught.value) == message


def test_a_wrong_expression_is_refused() -> None:
    with pytest.raises(JavaError) as caught:
        LineMessageReader({"headers.separator": "["})
    assert caught.value.java_class == "java.util.regex.PatternSyntaxException"
