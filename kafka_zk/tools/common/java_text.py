"""Text as Java makes it of bytes.

Role        Pure.
Source      String(byte[], UTF_8).
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from operator import methodcaller


def _as_java_replaces(error: UnicodeError) -> tuple[str, int]:
    """One replacement for a surrogate in two or three bytes, where Python replaces each byte."""
    assert isinstance(error, UnicodeDecodeError)
    wrong = error.object[error.start : error.start + 3]
    if wrong[0] == 0xED and len(wrong) > 1 and 0xA0 <= wrong[1] <= 0xBF:
        return "\ufffd", error.start + (3 if len(wrong) == 3 and wrong[2] & 0xC0 == 0x80 else 2)
    return "\ufffd", error.end


codecs.register_error("as-java-replaces", _as_java_replaces)


# A function of our own would cost more than the work it does.
string: Callable[[bytes], str] = methodcaller("decode", "utf-8", "as-java-replaces")
