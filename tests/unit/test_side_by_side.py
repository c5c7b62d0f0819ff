"""Which tests may run beside which."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.side_by_side import SPARK, group_of

TESTS = Path(__file__).parents[1]
STARTS_SPARK = re.compile(r"\bspark: SparkSession\b|\bstart_spark\(")


def test_whatever_starts_spark_is_in_its_group() -> None:
    """The others run beside it, and a second Spark would leave all of them without a core."""
    files = [
        file
        for suite in ("integration", "interop")
        for file in (TESTS / suite).rglob("test_*.py")
        if STARTS_SPARK.search(file.read_text())
    ]
    assert files, "no test starts Spark"
    assert [file.name for file in files if group_of(str(file)) != SPARK] == []
