"""Regular expressions that operators wrote for Java, as far as Python has the same.

Role        Pure.
Source      java.util.regex.Pattern in Java 17: its classes are of ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_CLASS = re.compile(r"\\.|\[\^?(\]?(?:\\.|[^\]\\])*)", re.DOTALL)
"""Something escaped, or a character class and what is in it."""
_ONLY_JAVAS = re.compile(r"(?<!\\)(?:\\\\)*(?:\[|&&)")
_NAMED_GROUP = re.compile(r"\(\?<(?=[a-zA-Z])")


class JavaPatternError(ValueError):
    """No regular expression, or one that only Java knows."""


def java_pattern(text: str) -> re.Pattern[str]:
    """Raises JavaPatternError."""
    for found in _CLASS.finditer(text):
        if found[1] and _ONLY_JAVAS.search(found[1]):
            raise JavaPatternError("character classes in others, and intersections of them, are not supported")
    try:
        # Java writes named groups without Python's P.
        return re.compile(_NAMED_GROUP.sub("(?P<", text), re.ASCII)
    except re.error as error:
        raise JavaPatternError(str(error)) from None


def java_matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """What Matcher.find finds in turn: after nothing was found somewhere, the next place is looked at."""
    at = 0
    while at <= len(text) and (found := pattern.search(text, at)) is not None:
        yield found
        at = found.end() + (found.end() == found.start())
