import json
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.config.declaration import Config, ConfigTable, Required
from kafka_zk.config.generate import sources
from kafka_zk.config.tables.admin import ADMIN_KEYS
from kafka_zk.config.tables.broker import BROKER_KEYS, DYNAMIC_ONLY_KEYS
from kafka_zk.config.tables.consumer import CONSUMER_KEYS
from kafka_zk.config.tables.producer import PRODUCER_KEYS
from kafka_zk.config.tables.topic import TOPIC_KEYS
from tests.unit.config.readers import wrong_rows

PROJECT = Path(__file__).parents[3]
GOLDEN = PROJECT / "tests" / "golden" / "configs"
TABLES = {
    "broker": BROKER_KEYS,
    "broker_dynamic_only": DYNAMIC_ONLY_KEYS,
    "topic": TOPIC_KEYS,
    "producer": PRODUCER_KEYS,
    "consumer": CONSUMER_KEYS,
    "admin": ADMIN_KEYS,
}


def as_kafka_shows(row: Config) -> dict[str, Any]:
    return {
        "name": row.name,
        "type": row.type.name,
        "required": isinstance(row.default, Required),
        "default": row.default_text,
        "valid": None if row.validator is None else str(row.validator),
        "importance": row.importance.value,
        "internal": row.internal,
        "sensitive": row.sensitive,
    }


@pytest.mark.parametrize("kind", TABLES)
def test_every_key_is_declared_as_in_kafka(kind: str):
    wanted = {row["name"]: row for row in json.loads((GOLDEN / "keys.json").read_text())[kind]}
    table = TABLES[kind]
    assert set(table) == set(wanted)
    for name, row in wanted.items():
        shown = as_kafka_shows(table[name])
        if kind == "broker":
            shown["update_mode"] = table[name].update_mode.value
        if kind == "topic":
            shown["broker_synonyms"] = list(table[name].broker_keys)
        assert shown == row


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_default_passes_its_own_validator(table: ConfigTable):
    for row in table.values():
        text = row.default_text
        if text is not None:
            assert row.parse(text) == row.default, row.name


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_key_is_explained_in_a_sentence(table: ConfigTable):
    for row in table.values():
        assert row.doc.endswith("."), row.name
        assert len(row.doc) < 120, row.name


def test_the_generated_attributes_are_up_to_date():
    for file_name, text in sources().items():
        written = (PROJECT / "kafka_zk" / "config" / file_name).read_text()
        assert written == text, f"{file_name} is stale: run python -m kafka_zk.config.generate"


def test_no_two_keys_share_an_attribute():
    for table in TABLES.values():
        assert len({row.attribute for row in table.values()}) == len(table)


def test_every_row_names_the_code_that_reads_it():
    wrong = [f"{kind} {row.name}: {row.read_by} should be {reader}" for kind, row, reader in wrong_rows()]
    assert wrong == [], "run python -m tests.unit.config.readers"
