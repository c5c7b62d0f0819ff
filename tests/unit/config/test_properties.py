import json
from pathlib import Path

import pytest

from kafka_zk.config.errors import ConfigException
from kafka_zk.config.properties import apply_overrides, parse_properties, read_file

GOLDEN = Path(__file__).parents[2] / "golden" / "configs"


def test_texts_are_read_as_java_reads_them():
    cases = json.loads((GOLDEN / "properties.json").read_text())
    assert len(cases) > 200
    for case in cases:
        try:
            properties = parse_properties(case["text"])
        except ConfigException:
            properties = None
        assert properties == case["properties"], case["text"]


def test_a_file_is_read_byte_by_byte_as_latin_1(tmp_path: Path):
    path = tmp_path / "server.properties"
    path.write_bytes(b"# caf\xe9\r\nname=caf\xe9\r\nlog.dirs=/a,\\\r\n   /b\r\n")
    assert read_file(path) == {"name": "café", "log.dirs": "/a,/b"}


def test_overrides_replace_entries_and_may_hold_equals_signs():
    assert apply_overrides({"a": "1", "b": "2"}, ["a=3", "c=x=y", "d="]) == {"a": "3", "b": "2", "c": "x=y", "d": ""}


@pytest.mark.parametrize("override", ["a", "=1", ""])
def test_an_override_without_key_or_equals_sign_is_refused(override: str):
    with pytest.raises(ConfigException, match="Invalid command line properties"):
        apply_overrides({}, [override])
