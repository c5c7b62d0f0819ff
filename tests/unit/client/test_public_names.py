"""`from kafka_zk.client import ...`: the three classes, each imported only when it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kafka_zk.client

MODULES = {
    "AdminClient": "kafka_zk.client.admin.admin_client",
    "KafkaConsumer": "kafka_zk.client.consumer.kafka_consumer",
    "KafkaProducer": "kafka_zk.client.producer.kafka_producer",
}


@pytest.mark.parametrize("name", MODULES)
def test_one_name_imports_none_of_the_others(name: str) -> None:
    others = sorted(MODULES[other] for other in MODULES if other != name)
    code = f"import sys; from kafka_zk.client import {name}; print([each for each in {others} if each in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_the_names_are_shown_and_others_are_refused() -> None:
    assert set(MODULES) == set(kafka_zk.client.__all__) <= set(dir(kafka_zk.client))
    with pytest.raises(AttributeError, match="has no attribute 'KafkaClient'"):
        kafka_zk.client.KafkaClient  # noqa: B018
