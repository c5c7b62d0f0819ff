"""What a broker registers with when its listeners change in the same moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from kafka_zk.broker import parts as parts_module
from kafka_zk.broker.parts import Parts
from kafka_zk.clock import SimClock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.endpoints import EndPoint
from kafka_zk.zk.znodes import BrokerRegistration

BEFORE = (EndPoint("PLAINTEXT", "PLAINTEXT", "before", 9092),)
SINCE = (EndPoint("PLAINTEXT", "PLAINTEXT", "since", 9092),)


class Joining:
    """A membership that takes its time: `meanwhile` happens while it registers."""

    def __init__(self) -> None:
        self.registered: list[tuple[EndPoint, ...]] = []
        self.meanwhile: tuple[EndPoint, ...] | None = None
        self.parts: Any = None

    def register(self, mine: BrokerRegistration, generation: int | None) -> None:
        if self.meanwhile is not None:
            self.parts._endpoints = self.meanwhile
        self.registered.append(mine.endpoints)


@pytest.mark.parametrize("meanwhile", [None, SINCE])
def test_listeners_that_change_while_the_broker_registers_anew_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: tuple[EndPoint, ...] | None
) -> None:
    properties = {"zookeeper.connect": "z:1", "broker.id": "1", "log.dirs": str(tmp_path)}
    parts = Parts(BrokerConfig.from_properties(properties), SimClock(), give_up=lambda: None)
    membership = Joining()
    membership.parts, membership.meanwhile = parts, meanwhile
    parts._membership, parts._zk, parts._endpoints = cast(Any, membership), cast(Any, None), BEFORE
    monkeypatch.setattr(
        parts_module, "update_registration", lambda zk, mine: membership.registered.append(mine.endpoints)
    )
    parts._register(2)
    assert membership.registered == ([BEFORE] if meanwhile is None else [BEFORE, SINCE])
