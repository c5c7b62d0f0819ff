"""What was started is stopped, the newest first, whatever goes wrong."""

from __future__ import annotations

import logging

import pytest

from kafka_zk.broker.stops import Stops


def test_the_newest_part_is_stopped_first() -> None:
    stops, stopped = Stops(), []
    for name in ("session", "logs", "sockets"):
        stops.add(name, lambda name=name: stopped.append(name))
    stops.stop_all(broker_id=1)
    assert stopped == ["sockets", "logs", "session"]


def test_a_part_that_cannot_be_stopped_is_named_and_keeps_no_other_from_being_stopped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stops, stopped = Stops(), []

    def break_down() -> None:
        raise ValueError("broken")

    stops.add("session", lambda: stopped.append("session"))
    stops.add("logs", break_down)
    with caplog.at_level(logging.ERROR, logger="kafka.server.KafkaServer"):
        stops.stop_all(broker_id=1)
    assert stopped == ["session"]
    assert "[KafkaServer id=1] Error while stopping the logs" in caplog.text and "broken" in caplog.text


def test_what_a_stop_starts_is_stopped_too_and_nothing_is_stopped_twice() -> None:
    stops, stopped = Stops(), []
    stops.add("first", lambda: stops.add("second", lambda: stopped.append("second")))
    stops.stop_all(broker_id=1)
    stops.stop_all(broker_id=1)
    assert stopped == ["second"]
