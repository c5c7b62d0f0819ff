"""Our broker takes the place of a killed Apache broker: its id, its ports, its directory, and its registration."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.librdkafka import Librdkafka, Written, as_written
from tests.support.processes import free_port
from tests.support.znodes import broker_epoch

RECORDS = [Written(b"%d" % number) for number in range(100)]


@pytest.mark.slow
def test_our_broker_waits_for_the_session_of_a_killed_apache_broker_and_serves_its_data(
    tmp_path: Path, zookeeper_connect: str
) -> None:
    place = {"listeners": f"PLAINTEXT://127.0.0.1:{free_port()}", "zookeeper.session.timeout.ms": "30000"}
    apache = ApacheBroker(tmp_path / "apache", zookeeper_connect, broker_id=5, overrides=place)
    ours = OurBroker(
        tmp_path / "ours", zookeeper_connect, broker_id=5, overrides=place, log_dir=tmp_path / "apache" / "data"
    )
    try:
        apache.start()
        clients = Librdkafka(apache.bootstrap)
        topic = clients.topic()
        clients.write(topic, RECORDS, acks="all")
        epoch = broker_epoch(zookeeper_connect, 5)
        assert epoch is not None
        apache.kill()
        assert broker_epoch(zookeeper_connect, 5) == epoch, "its session outlives it"
        ours.start()
        ours.says("Waiting for session 0x", "of an earlier run of this broker, which still holds /brokers/ids/5")
        assert (broker_epoch(zookeeper_connect, 5) or 0) > epoch
        assert [as_written(message) for message in clients.read(topic, len(RECORDS))] == RECORDS
        clients.close()
    finally:
        apache.kill()
        ours.kill()
