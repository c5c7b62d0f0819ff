"""Each planted fault still has its place and its tests: found in a second, not when the mutants suite comes to it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.mutants.catalogue import MUTANTS

PROJECT = Path(__file__).parents[2]


def test_the_text_that_a_fault_replaces_occurs_once() -> None:
    lost = [f"{each.file}: {each.breaks}" for each in MUTANTS if (PROJECT / each.file).read_text().count(each.old) != 1]
    assert not lost


def test_the_tests_that_must_catch_a_fault_exist() -> None:
    missing = []
    for mutant in MUTANTS:
        for name in mutant.tests.split():
            file, _, test = name.partition("::")
            if "/" not in file or not file.startswith("tests/"):
                continue  # An option of pytest, or its value.
            function = test.partition("[")[0].rpartition("::")[2]
            path = PROJECT / file
            if not path.exists() or (function and not re.search(rf"\b(def|class) {function}\b", path.read_text())):
                missing.append(f"{mutant.breaks}: {name}")
    assert not missing
