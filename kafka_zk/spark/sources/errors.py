"""Errors of the data sources. Each message is one sentence; Spark shows it below its own headline.

Role        Pure.
"""

from __future__ import annotations


class SourceOptionError(ValueError):
    """An invalid option or combination of options."""


class DataLossError(Exception):
    """Records to read were deleted, or offsets are outside of a log, and `failOnDataLoss` is true."""


class SourceError(Exception):
    """The source failed."""
