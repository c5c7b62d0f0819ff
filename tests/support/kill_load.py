"""Clients that write until their broker dies, and remember what it acknowledged."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field

from kafka_zk.protocol.errors import ErrorCode
from tests.support import wire
from tests.support.raw_client import ConnectionClosed, RawClient


@dataclass
class Writer:
    """One connection, one batch at a time, never sent twice: what it wrote is in the log once or not at all."""

    bootstrap: str
    topic: str
    partition: int
    acks: int
    chance: random.Random
    acknowledged: dict[int, bytes] = field(default_factory=dict)
    """Values by their offsets."""
    sent: set[bytes] = field(default_factory=set)
    pause_s: float = 0.0
    """Between two batches."""
    _asked_to_stop: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name=f"writer-{self.partition}", daemon=True)
        self._thread.start()

    @property
    def is_writing(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        """Let it finish the batch at hand."""
        self._asked_to_stop.set()
        self.join()

    def join(self) -> None:
        """Wait until its connection has ended."""
        self._thread.join(30)
        assert not self._thread.is_alive(), "the connection outlived its broker"

    def _run(self) -> None:
        try:
            with RawClient(self.bootstrap, timeout_s=20) as client:
                while not self._asked_to_stop.wait(self.pause_s):
                    self._write(client)
        except (ConnectionClosed, OSError):
            return

    def _write(self, client: RawClient) -> None:
        values = [self._value() for _ in range(self.chance.choice((1, 1, 5, 50)))]
        self.sent.update(values)
        code, base_offset = wire.try_produce(client, self.topic, values, partition=self.partition, acks=self.acks)
        if code is ErrorCode.NONE:
            self.acknowledged.update(enumerate(values, base_offset))

    def _value(self) -> bytes:
        # A few are long enough to be written by the pool.
        size = self.chance.choice((10, 100, 1000)) if self.chance.random() < 0.99 else 50_000
        return b"%d-" % len(self.sent) + self.chance.randbytes(8).hex().encode() + b"." * size
