"""Tables and failures as kafka-transactions.sh prints them.

Role        Pure.
Source      TransactionsCommand.prettyPrintTable, printErrorAndExit.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_zk.tools.common.failures import Refused
from kafka_zk.tools.common.java_output import message_of


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Lines of cells, each as wide as its column and followed by a tab."""
    lines = [list(headers), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "".join(cell.ljust(width) + "\t" for cell, width in zip(line, widths, strict=True)) + "\n" for line in lines
    )


def failed(what: str, error: Exception) -> Refused:
    """The sentence about an error that ends the tool."""
    return Refused(f"{what}: {message_of(error)}. Enable debug logging for additional detail.")


def or_none(value: int | None) -> str:
    """A number that may be missing."""
    return "None" if value is None else str(value)
