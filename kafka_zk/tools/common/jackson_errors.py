"""What Jackson says of a text that is no JSON, and where.

Role        Pure. Called once Python's decoder has refused a text; finds the first thing that Jackson does not accept.
Invariants  Lines and columns begin at 1; a column is mostly that behind the offending character, as Jackson counts.
Source      com.fasterxml.jackson.core.json.ReaderBasedJsonParser of 2.16, with its default features.
"""

from __future__ import annotations

import unicodedata

from kafka_zk.tools.common.java_output import JavaError

_PARSE = "com.fasterxml.jackson.core.JsonParseException"
_EOF = "com.fasterxml.jackson.core.io.JsonEOFException"
SOURCE = "Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled)"
_VALUES = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')"
_A_VALUE = f"expected a valid value {_VALUES}"
_SPACE = " \t\r\n"
_DIGITS = "0123456789"
_ESCAPES = '"\\/bfnrtu'
_TOKENS = {"t": "true", "f": "false", "n": "null"}
_NON_STANDARD = ("NaN", "Infinity", "-Infinity")
_CLOSING = {"Array": "]", "Object": "}"}


def parse_error(text: str) -> JavaError:
    """The exception for a text that is no JSON."""
    if not text:
        return JavaError("The input string shouldn't be empty\n at [Source: UNKNOWN; byte offset: #UNKNOWN]", _PARSE)
    try:
        _Scanner(text).scan()
    except JavaError as error:
        return error
    return JavaError("Unexpected text", _PARSE)


class _Scanner:
    """`position` is behind what was read; `open` are the arrays and objects around it, with their start and size."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.open: list[tuple[str, int]] = []
        self.sizes: list[int] = []

    def scan(self) -> None:
        """Read the first value. Raises JavaError."""
        character = self._next()
        if character is None:
            return
        self._value(character)
        while self.open:
            self._element()

    def _element(self) -> None:
        kind, start = self.open[-1]
        character = self._next()
        if character is None:
            raise self._end(f": expected close marker for {kind} (start marker at {self._at(start + 1)})")
        if character in "]}":
            self._close(character)
            return
        if self.sizes[-1]:
            if character != ",":
                raise self._unexpected(character, f"was expecting comma to separate {kind} entries")
            character = self._next()
            if character is None:
                raise self._error(f"Unexpected end-of-input within/between {kind} entries")
        self.sizes[-1] += 1
        self._value(self._behind_name(character) if kind == "Object" else character)

    def _behind_name(self, character: str) -> str:
        if character != '"':
            raise self._unexpected(character, "was expecting double-quote to start field name")
        self._string("name")
        colon = self._next()
        if colon is not None and colon != ":":
            raise self._unexpected(colon, "was expecting a colon to separate field name and value")
        value = None if colon is None else self._next()
        if value is None:
            raise self._end(" within/between Object entries")
        return value

    def _close(self, character: str) -> None:
        kind, start = self.open[-1] if self.open else ("root", 0)
        # At the root it names the other marker.
        expected = _CLOSING.get(kind, "}" if character == "]" else "]")
        if character != expected:
            where = self._at(start + 1) if self.open else f"[{SOURCE}; line: 1]"
            raise self._error(
                f"Unexpected close marker '{character}': expected '{expected}' (for {kind} starting at {where})"
            )
        self.open.pop()
        self.sizes.pop()

    def _next(self) -> str | None:
        """The next character that is no space; None at the end."""
        while self.position < len(self.text):
            character = self.text[self.position]
            self.position += 1
            if character == "/":
                raise self._unexpected(
                    character,
                    "maybe a (non-standard) comment? "
                    "(not recognized as one since Feature 'ALLOW_COMMENTS' not enabled for parser)",
                )
            if character in _SPACE:
                continue
            if character < " ":
                raise self._error(
                    f"Illegal character ({_described(character)}): "
                    "only regular white space (\\r, \\n, \\t) is allowed between tokens"
                )
            return character
        return None

    # --- values ------------------------------------------------------------------------------------------------------

    def _value(self, character: str) -> None:
        if character in "[{":
            self.open.append(("Array" if character == "[" else "Object", self.position - 1))
            self.sizes.append(0)
        elif character == '"':
            self._string("string value")
        elif character in _DIGITS or character == "-":
            self._number(character)
        elif character == "+":
            self.position += 1
            raise self._odd_number(
                "+",
                "JSON spec does not allow numbers to have plus signs: enable "
                "`JsonReadFeature.ALLOW_LEADING_PLUS_SIGN_FOR_NUMBERS` to allow",
            )
        elif character in "]}" and not self.open:
            self._close(character)
        elif _is_identifier_start(character):
            self._token(self.position - 1)
        else:
            raise self._unexpected(character, _A_VALUE)

    def _token(self, start: int) -> None:
        while self.position < len(self.text) and _is_identifier_part(self.text[self.position]):
            self.position += 1
        token = self.text[start : self.position]
        if token in _NON_STANDARD:
            raise self._non_standard(token)
        if token != _TOKENS.get(token[0]):
            raise self._error(f"Unrecognized token '{token}': was expecting {_VALUES}")

    def _number(self, character: str) -> None:
        if character == "-":
            if self.text.startswith("Infinity", self.position):
                self.position += len("Infinity")
                raise self._non_standard("-Infinity")
            character = self._peek()
            self.position += 1
            if not character:
                self.position -= 1
                raise self._end("No digit following minus sign")
            if character not in _DIGITS:
                raise self._odd_number(character, "expected digit (0-9) to follow minus sign, for valid numeric value")
        if character == "0" and self._is_digit():
            raise self._error("Invalid numeric value: Leading zeroes not allowed")
        self._digits()
        if self._peek() == ".":
            self._part("Decimal point")
        if self._peek() in ("e", "E"):
            self._part("Exponent indicator")
        if not self.open and self._peek() and self._peek() not in _SPACE:
            self.position += 1
            raise self._unexpected(self.text[self.position - 1], "Expected space separating root-level values")

    def _part(self, name: str) -> None:
        self.position += 1
        behind_its_sign = self.position
        if name.startswith("Exponent") and self._peek() in ("+", "-"):
            self.position += 1
        if not self._is_digit():
            odd, self.position = self._peek() or "\0", behind_its_sign
            raise self._odd_number(odd, f"{name} not followed by a digit")
        self._digits()

    def _digits(self) -> None:
        while self._is_digit():
            self.position += 1

    def _is_digit(self) -> bool:
        return self._peek() in _DIGITS and bool(self._peek())

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _string(self, what: str) -> None:
        while self.position < len(self.text):
            character = self.text[self.position]
            self.position += 1
            if character == '"':
                return
            if character == "\\":
                self._escape()
            elif character < " ":
                raise self._error(
                    f"Illegal unquoted character ({_described(character)}): "
                    f"has to be escaped using backslash to be included in {what}"
                )
        in_name = " in field name"
        raise self._end(in_name if what == "name" else ": was expecting closing quote for a string value")

    def _escape(self) -> None:
        character = self._peek()
        if not character:
            raise self._end(" in character escape sequence")
        self.position += 1
        if character not in _ESCAPES:
            raise self._error(f"Unrecognized character escape {_described(character)}")
        if character != "u":
            return
        for _ in range(4):
            digit = self._peek()
            if not digit:
                raise self._end(" in character escape sequence")
            self.position += 1
            if digit not in "0123456789abcdefABCDEF":
                raise self._unexpected(digit, "expected a hex-digit for character escape sequence")

    # --- errors ------------------------------------------------------------------------------------------------------

    def _unexpected(self, character: str, comment: str) -> JavaError:
        return self._error(f"Unexpected character ({_described(character)}): {comment}")

    def _odd_number(self, character: str, comment: str) -> JavaError:
        return self._error(f"Unexpected character ({_described(character)}) in numeric value: {comment}")

    def _non_standard(self, token: str) -> JavaError:
        return self._error(f"Non-standard token '{token}': enable `JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS` to allow")

    def _end(self, comment: str) -> JavaError:
        return self._error(f"Unexpected end-of-input{comment}", _EOF)

    def _error(self, message: str, java_class: str = _PARSE) -> JavaError:
        return JavaError(f"{message}\n at {self._at(self.position + 1)}", java_class)

    def _at(self, column: int) -> str:
        """`column` counts from the beginning of the text; a line break that is the last thing read ends no line."""
        before = self.text[: max(0, min(column - 1, len(self.text)) - 1)]
        return f"[{SOURCE}; line: {before.count(chr(10)) + 1}, column: {column - (before.rfind(chr(10)) + 1)}]"


def _described(character: str) -> str:
    code = ord(character)
    if code < 32 or 127 <= code < 160:
        return f"(CTRL-CHAR, code {code})"
    return f"'{character}' (code {code}{f' / 0x{code:x}' if code > 255 else ''})"


def _is_identifier_start(character: str) -> bool:
    """Character.isJavaIdentifierStart: letters, signs of currencies, connecting punctuation."""
    return character.isidentifier() or unicodedata.category(character) in ("Sc", "Pc")


def _is_identifier_part(character: str) -> bool:
    return _is_identifier_start(character) or f"a{character}".isidentifier()
