"""How a transform writes to its topic."""

from __future__ import annotations

from kafka_zk.spark.jobs.transform import topic_options
from kafka_zk.spark.settings.declaration import Settings
from kafka_zk.spark.settings.jobs import JOBS

GIVEN = {"bootstrap-server": "b:9092", "topics": "t", "sql": "SELECT value FROM records", "to-topic": "u"}


def test_a_topic_is_written_exactly_once_unless_the_job_says_otherwise() -> None:
    def said(**given: str) -> str:
        return topic_options(Settings(JOBS["transform"], {**GIVEN, **given}))["exactlyOnce"]

    assert said() == said(delivery="exactly-once") == "true"
    assert said(delivery="at-least-once") == "false"


def test_the_transactions_are_in_the_cluster_that_is_written_to() -> None:
    elsewhere = {"target-bootstrap-server": "c:9092", "target-kafka": {"transaction.timeout.ms": "900000"}}
    options = topic_options(Settings(JOBS["transform"], GIVEN | elsewhere))
    assert options["kafka.bootstrap.servers"] == "c:9092" and options["topic"] == "u"
    assert options["kafka.transaction.timeout.ms"] == "900000"
