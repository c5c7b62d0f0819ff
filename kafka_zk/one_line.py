"""What others have sent, as part of a log line.

Role        Pure.
Invariants  Whatever its characters, it makes one line, and shows which they are.
"""

from __future__ import annotations


def one_line(text: str) -> str:
    r"""`text` with `\n` for the end of a line, and so for all that does not print: what follows an end of a line would
    look like a line of the log's own."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()
