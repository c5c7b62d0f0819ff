"""One sentence out of what Spark says when a job fails."""

from __future__ import annotations

import pytest

from kafka_zk.spark.cli.failures import clear_sentence

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
