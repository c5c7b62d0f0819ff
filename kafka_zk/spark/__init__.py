"""PySpark data sources and the jobs of the data pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(session: SparkSession) -> None:
    """Make our formats known to a session."""
