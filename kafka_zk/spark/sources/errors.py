"""Errors of the data sources. Each message is one sentence; Spark shows it below its own headline.

Role        Pure.
"""

from __future__ import annotations


class SourceOptionError(ValueError):
    """An option, or a combination of options, that cannot be meant."""


class DataLossError(Exception):
    """Records that a query should read are gone, or offsets lie outside of a log, and `failOnDataLoss` is true."""


class SourceError(Exception):
    """The source could not do what was planned."""
