"""What a broker says of itself."""

from __future__ import annotations

from kafka_zk.broker.membership.advertised import advertised_endpoints
from kafka_zk.config.broker import BrokerConfig


def test_only_listeners_that_are_open_are_advertised_with_their_real_ports() -> None:
    listeners = "ONE://127.0.0.1:0,TWO://127.0.0.1:9"
    config = BrokerConfig.from_properties(
        {
            "zookeeper.connect": "localhost:2181",
            "listeners": listeners,
            "listener.security.protocol.map": "ONE:PLAINTEXT,TWO:PLAINTEXT",
            "inter.broker.listener.name": "ONE",
        }
    )
    ports = {"ONE": 4711, "TWO": 9}
    both = advertised_endpoints(config, ports.__getitem__, ports.keys())
    assert [(end.listener_name, end.host, end.port) for end in both] == [
        ("ONE", "127.0.0.1", 4711),
        ("TWO", "127.0.0.1", 9),
    ]
    del ports["TWO"]
    assert advertised_endpoints(config, ports.__getitem__, ports.keys()) == both[:1]
