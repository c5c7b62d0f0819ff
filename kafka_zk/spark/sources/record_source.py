"""What both formats share: a name, and the fixed columns of records.

Role        Base of the classes that Spark registers. Holds options only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pyspark.sql.datasource import DataSource

from kafka_zk.spark.sources.errors import SourceOptionError
from kafka_zk.spark.sources.options import read_flag
from kafka_zk.spark.sources.schema import source_schema

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class RecordSource(DataSource):
    """A format whose rows are records."""

    NAME: ClassVar[str]

    @classmethod
    def name(cls) -> str:
        return cls.NAME

    def schema(self) -> StructType:
        return source_schema(include_headers=read_flag(self.options, "includeHeaders", default=False))

    def check(self, schema: StructType) -> None:
        """Raises SourceOptionError where a reader was given a schema that is not ours."""
        if schema != self.schema():
            raise SourceOptionError(f"The format {self.NAME} has a fixed schema; do not set one.")
