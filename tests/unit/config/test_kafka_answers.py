"""What Kafka accepts and refuses, message by message (tests/golden/configs/answers.jsonl)."""

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.errors import ConfigException, UnsupportedConfig
from kafka_zk.config.topic import validate_overrides

GOLDEN = Path(__file__).parents[2] / "golden" / "configs"
CASES = [json.loads(line) for line in (GOLDEN / "answers.jsonl").read_text().splitlines()]

# Kafka loads plug-ins later, or stops for the sake of KRaft; here the start ends at once.
REFUSED_HERE = {"replica.selector.class", "zookeeper.metadata.migration.enable", "process.roles"}
# Of two wrong values Kafka names the one it declared first; the order says nothing to a user.
EITHER_ERROR = [{"retention.ms": "x", "min.insync.replicas": "0"}]


def answer_to(resource: str, properties: dict[str, str]) -> str | None:
    try:
        if resource == "broker":
            BrokerConfig.from_properties(properties)
        else:
            validate_overrides(BrokerConfig.from_properties({"zookeeper.connect": "h:1"}), properties)
    except UnsupportedConfig:
        return "unsupported"
    except ConfigException as error:
        return str(error)
    return None


def shown(case: dict[str, Any]) -> str:
    entries = [f"{key}={value}" for key, value in case["properties"].items() if key != "zookeeper.connect"]
    return f"{case['resource']} {','.join(entries)}"


@pytest.mark.parametrize("case", CASES, ids=shown)
def test_values_are_accepted_and_refused_as_kafka_does(case: dict[str, Any]):
    properties = case["properties"]
    answer = answer_to(case["resource"], properties)
    if case["resource"] == "broker" and REFUSED_HERE & set(properties) and answer != case["answer"]:
        assert answer is not None
    elif properties in EITHER_ERROR:
        assert answer is not None and answer.startswith("Invalid value")
    else:
        assert answer in (case["answer"], "unsupported")
        if answer == "unsupported":
            assert case["answer"] is None or "SSL" in properties["listeners"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("authorizer.class.name", "org.example.OwnAuthorizer"),
        ("remote.log.storage.system.enable", "true"),
        ("config.providers", "file"),
    ],
)
def test_what_guards_data_or_access_is_refused_in_one_sentence_until_it_works(key: str, value: str):
    properties = {"zookeeper.connect": "h:1", "broker.id": "1", key: value}
    with pytest.raises(UnsupportedConfig) as error:
        BrokerConfig.from_properties(properties)
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)


def test_kraft_and_its_migration_are_refused():
    for key, value in (("process.roles", "broker"), ("zookeeper.metadata.migration.enable", "true")):
        with pytest.raises(UnsupportedConfig, match="not supported"):
            BrokerConfig.from_properties({"zookeeper.connect": "h:1", "broker.id": "1", key: value})
