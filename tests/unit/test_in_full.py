"""What waits for --full is there, and leaves CI something of its file."""

import re

import pytest

from kafka_zk.compiled import PROJECT
from tests.support.in_full import ONCE_MORE, is_once_more


@pytest.mark.parametrize("pattern", ONCE_MORE)
def test_each_pattern_is_of_a_file_and_not_of_all_its_tests(pattern: str) -> None:
    name = pattern.partition("::")[0].removeprefix("/").replace("\\", "")
    (file,) = (PROJECT / "tests" / "interop").rglob(name.rpartition("/")[2])
    tests = re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
    assert tests
    path = file.relative_to(PROJECT)
    assert not all(is_once_more(f"{path}::{test}") for test in tests)


def test_only_interop_has_such_tests() -> None:
    assert is_once_more("tests/interop/test_cleaner_settings.py::test_threads[apache]")
    assert not is_once_more("tests/integration/test_cleaner_settings.py::test_threads[apache]")
    assert not is_once_more("tests/interop/test_cleaner_settings.py::test_threads[ours]")
