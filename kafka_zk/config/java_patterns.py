"""Regular expressions that operators wrote for Java, as far as Python has the same.

Role        Pure.
Source      java.util.regex.Pattern in Java 17: its classes are of ASCII.
"""

from __future__ import annotations

import re

_NAMED_GROUP = re.compile(r"\(\?<(?=[a-zA-Z])")


class JavaPatternError(ValueError):
    """No regular expression, or one that only Java knows."""


def java_pattern(text: str) -> re.Pattern[str]:
    """Raises JavaPatternError."""
    try:
        # Java writes named groups without Python's P.
        return re.compile(_NAMED_GROUP.sub("(?P<", text), re.ASCII)
    except re.error as error:
        raise JavaPatternError(str(error)) from None
