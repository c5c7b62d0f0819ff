"""Names and rules give what Java 17 and Kafka 3.9.1 gave: tests/golden/tls, made by tests/interop/tls/goldens.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_zk.tls.errors import TlsError
from kafka_zk.tls.mapping_rules import NoMatchingRule, PrincipalMapper
from kafka_zk.tls.names import name_text

GOLDEN = Path(__file__).parents[2] / "golden" / "tls"
ANSWERS = json.loads((GOLDEN / "answers.json").read_text())


@pytest.mark.parametrize("case", ANSWERS["names"], ids=lambda case: repr(case["text"])[:40])
def test_a_name_is_printed_as_java_prints_it(case: dict[str, str]) -> None:
    """(security 12.7)"""
    assert name_text(bytes.fromhex(case["der"])) == case["text"]


@pytest.mark.parametrize("case", ANSWERS["rules"], ids=lambda case: case["rules"][:40])
def test_rules_give_the_principal_that_kafka_gives(case: dict[str, str]) -> None:
    """(security 12.8)"""
    try:
        answer = "= " + PrincipalMapper.of(case["rules"]).name_of(case["name"])
    except (TlsError, NoMatchingRule) as error:
        answer = f"! {error}"
    assert answer == case["answer"]
