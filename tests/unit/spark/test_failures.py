"""One sentence out of what Spark says when a job fails."""

from __future__ import annotations

import pytest

from kafka_zk.spark.cli.failures import clear_sentence, is_of_a_fenced_run

WORKER = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted due to stage failure:
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
    process()
kafka_zk.spark.jobs.outcome.JobError: a record of this copy came to t-0 at offset 5, not 4

	at org.apache.spark.api.python.BasePythonRunner
Driver stacktrace:
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (WORKER, "a record of this copy came to t-0 at offset 5, not 4"),
        ("[TABLE_OR_VIEW_NOT_FOUND] The table `x` cannot be found.\nmore", "The table `x` cannot be found."),
        ("there is no column 'x'", "there is no column 'x'"),
        ("Traceback\nKeyError: 'carrier'", "KeyError: 'carrier'"),
        ("An error occurred while calling o5.save.\n: java.io.IOException: no space left\n\tat a.B", "no space left"),
        (
            f"{WORKER.splitlines()[0]}\nkafka_zk.client.x.Overtaken: Partition t-0 rejected 5",
            "Partition t-0 rejected 5",
        ),
        ("\n\n", "it failed without an error message"),
    ],
)
def test_the_sentence(text: str, sentence: str):
    assert clear_sentence(text) == sentence


@pytest.mark.parametrize("name", ["AnotherRunError", "JobError"])
def test_a_run_that_was_taken_over_is_told_from_one_that_failed(name: str):
    """In a batch of a query Spark hands it on as text, with what the brokers said before it."""
    text = WORKER.replace("outcome.JobError: a record", "outcome.AnotherRunError: not the last") + (
        "The above exception was the direct cause of the following exception:\n"
        f"kafka_zk.spark.jobs.outcome.{name}: another run has begun\n\n\tat py4j.Protocol"
    )
    assert clear_sentence(text) == "another run has begun"
    assert is_of_a_fenced_run(text) == (name == "AnotherRunError")
