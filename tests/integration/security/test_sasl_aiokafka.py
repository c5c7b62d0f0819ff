"""aiokafka logs in; it cannot do so again, so its sessions end, and it connects anew without its user noticing."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from kafka_zk.sasl.scram_credentials import Mechanism
from tests.integration.security.sasl_broker import PREFIX, sasl_overrides
from tests.interop.sasl.users import put_scram_user
from tests.support.broker import OurBroker

SESSION_MS = 1500
WORK_S = 5.0


async def work(bootstrap: str, mechanism: str) -> int:
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        sasl_plain_username="alice",
        sasl_plain_password="alice-secret",
        acks="all",
    )
    await producer.start()
    count = 0
    end_s = time.monotonic() + WORK_S
    try:
        while time.monotonic() < end_s:
            await producer.send_and_wait("aiokafka", b"x")
            count += 1
            await asyncio.sleep(0.01)
    finally:
        await producer.stop()
    return count


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_aiokafka_works_over_the_ends_of_its_sessions(tmp_path: Path, zookeeper_connect: str, mechanism: str) -> None:
    """(security 12.26)"""
    put_scram_user(zookeeper_connect, "alice", *Mechanism)
    overrides = sasl_overrides({f"{PREFIX}{mechanism.lower()}.connections.max.reauth.ms": str(SESSION_MS)})
    broker = OurBroker(tmp_path, zookeeper_connect, overrides=overrides).start()
    try:
        assert asyncio.run(work(broker.bootstrap, mechanism)) > 100
    finally:
        broker.stop()
