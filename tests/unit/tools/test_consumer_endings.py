"""A consuming tool ends also where its end fails: what waits for it at a signal, or at the end, is let go."""

from __future__ import annotations

import threading

import pytest

from kafka_zk.client.consumer import kafka_consumer
from kafka_zk.client.consumer.errors import WakeupException
from kafka_zk.client.errors import KafkaException
from kafka_zk.tools.common.program import Main, Shutdown
from kafka_zk.tools.console_consumer import command as console
from kafka_zk.tools.consumer_perf_test import command as perf
from kafka_zk.tools.verifiable_consumer import command as verifiable

CONNECTION = ["--bootstrap-server", "b:9092", "--topic", "t"]


class Failing:
    """Stands where the consumer stands; polling and closing fail."""

    def __init__(self, properties: object) -> None:
        pass

    def subscribe(self, *_: object) -> None:
        pass

    def wakeup(self) -> None:
        pass

    def poll(self, _: float) -> None:
        raise KafkaException("polling failed")

    def close(self) -> None:
        raise OSError("closing failed")


@pytest.mark.parametrize(
    ("work", "arguments"),
    [
        (console.work, CONNECTION),
        (perf.work, [*CONNECTION, "--messages", "1"]),
        (verifiable.work, [*CONNECTION, "--group-id", "g"]),
    ],
)
def test_an_end_that_fails_holds_nobody_up(work: Main, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_consumer, "KafkaConsumer", Failing)
    shutdown = Shutdown()
    with pytest.raises(OSError, match="closing failed"):
        work(arguments, shutdown)
    ending = threading.Thread(target=shutdown.run, daemon=True)
    ending.start()
    ending.join(30)
    assert not ending.is_alive()


class Interrupted(Failing):
    """As at a signal: the poll is woken."""

    def poll(self, _: float) -> None:
        raise WakeupException

    def close(self) -> None:
        pass


def test_nothing_is_told_of_a_measurement_that_was_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kafka_consumer, "KafkaConsumer", Interrupted)
    perf.work([*CONNECTION, "--messages", "1", "--hide-header"], Shutdown())
    assert capsys.readouterr() == ("", "")
