"""LineMessageReader: a line of standard input becomes a record.

Role        Pure: lines in, records out.
Invariants  Separators are texts, that of the headers is a regular expression, as in Apache's tool. Key, value and
            header values that equal null.marker are null.
Source      kafka.tools.ConsoleProducer.LineMessageReader.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kafka_zk.client.errors import KafkaException
from kafka_zk.tools.common.java_values import compiled_pattern

CLASS_NAME = "kafka.tools.ConsoleProducer$LineMessageReader"


class LineRecord(NamedTuple):
    """The parts of a line."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class LineMessageReader:
    """Reads lines by the properties of --property and --reader-config."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Raises KafkaException for separators that are not distinct, JavaError for a wrong expression."""

        def asked(name: str) -> bool:
            return properties.get(name, "").strip().lower() == "true"

        self._parse_key = asked("parse.key")
        self._parse_headers = asked("parse.headers")
        self._ignore_error = asked("ignore.error")
        self._key_separator = properties.get("key.separator", "\t")
        self._headers_delimiter = properties.get("headers.delimiter", "\t")
        headers_separator = properties.get("headers.separator", ",")
        self._headers_pattern = compiled_pattern(headers_separator)
        self._header_key_separator = properties.get("headers.key.separator", ":")
        self._null_marker = properties.get("null.marker")
        named = {
            "headers.delimiter": self._headers_delimiter,
            "headers.separator": headers_separator,
            "headers.key.separator": self._header_key_separator,
        }
        _refuse_equal(named, "headers.delimiter", "headers.separator")
        _refuse_equal(named, "headers.delimiter", "headers.key.separator")
        _refuse_equal(named, "headers.separator", "headers.key.separator")
        if self._null_marker is not None:
            named |= {"null.marker": self._null_marker, "key.separator": self._key_separator}
            for other in ("key.separator", "headers.separator", "headers.delimiter", "headers.key.separator"):
                _refuse_equal(named, "null.marker", other)

    def read(self, lines: Iterable[bytes]) -> Iterator[LineRecord]:
        """Records of lines without their ends, in valid UTF-8. Raises KafkaException for a line that lacks a part."""
        if self._parse_key or self._parse_headers:
            for number, line in enumerate(lines, 1):
                yield self._parsed(line.decode(), number)
        elif self._null_marker is None:
            for line in lines:
                yield LineRecord(None, line)
        else:
            null = self._null_marker.encode()
            for line in lines:
                yield LineRecord(None, None if line == null else line)

    def _parsed(self, line: str, number: int) -> LineRecord:
        headers, start = self._part(self._parse_headers, line, 0, self._headers_delimiter, "headers delimiter", number)
        key, start = self._part(self._parse_key, line, start, self._key_separator, "key separator", number)
        found = () if headers is None or headers == self._null_marker else tuple(self._headers(headers, number))
        return LineRecord(self._bytes(key), self._bytes(line[start:]), found)

    def _part(
        self, wanted: bool, line: str, start: int, separator: str, name: str, number: int
    ) -> tuple[str | None, int]:
        """The text up to the next separator, and where the rest begins."""
        if not wanted:
            return None, start
        end = line.find(separator, start)
        if end >= 0:
            return line[start:end], end + len(separator)
        if self._ignore_error:
            return None, start
        raise KafkaException(f"No {name} found on line number {number}: '{line}'")

    def _bytes(self, text: str | None) -> bytes | None:
        return None if text is None or text == self._null_marker else text.encode()

    def _headers(self, text: str, number: int) -> Iterator[tuple[str, bytes | None]]:
        for pair in _split(self._headers_pattern, text):
            end = pair.find(self._header_key_separator)
            if end < 0:
                if not self._ignore_error:
                    raise KafkaException(f"No header key separator found in pair '{pair}' on line number {number}")
                yield pair, None
                continue
            key, value = pair[:end], pair[end + len(self._header_key_separator) :]
            if key == self._null_marker:
                raise KafkaException(
                    f"Header keys should not be equal to the null marker '{key}' as they can't be null"
                )
            yield key, self._bytes(value)


def _refuse_equal(texts: Mapping[str, str], one: str, other: str) -> None:
    if texts[one] == texts[other]:
        raise KafkaException(f"{one} and {other} may not be equal")


def _split(pattern: re.Pattern[str], text: str) -> list[str]:
    """Pattern.split: without the empty parts at the end, nor one before a match of nothing at the start."""
    parts, start = [], 0
    for match in pattern.finditer(text):
        if match.end() == 0:
            continue
        parts.append(text[start : match.start()])
        start = match.end()
    if not parts:
        return [text]
    parts.append(text[start:])
    while parts and not parts[-1]:
        parts.pop()
    return parts
