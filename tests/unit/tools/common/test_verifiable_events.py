"""Events of the verifiable tools."""

from __future__ import annotations

import json

from kafka_zk.tools.common.verifiable_events import EventPrinter, event_text


def test_an_event_is_a_line_of_json_with_time_and_name_first() -> None:
    assert event_text("a", 5, key=None, value='"ü', ok=True, rows=[{"n": 1}]) == (
        '{"timestamp":5,"name":"a","key":null,"value":"\\"ü","ok":true,"rows":[{"n":1}]}'
    )


def test_a_rate_is_printed_as_java_prints_doubles() -> None:
    assert event_text("a", 5, rate=8.16326530612245) == '{"timestamp":5,"name":"a","rate":8.16326530612245}'
    assert '"rate":1.0E7}' in event_text("a", 5, rate=1e7)
    assert '"rate":0.0}' in event_text("a", 5, rate=0.0)


def test_the_printer_adds_the_time(capsys) -> None:
    EventPrinter()("startup_complete")
    event = json.loads(capsys.readouterr().out)
    assert event["name"] == "startup_complete"
    assert event["timestamp"] > 1_600_000_000_000
