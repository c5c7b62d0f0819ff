"""The addresses that a broker advertises in ZooKeeper.

Role        Pure, except for looking up this machine's name if a listener has no host.
Source      KafkaServer.createBrokerInfo, EndPoint; InetAddress.getLocalHost.getCanonicalHostName.
"""

from __future__ import annotations

from collections.abc import Callable, Set

from gevent import socket

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.endpoints import EndPoint
from kafka_zk.zk.znodes import BrokerRegistration


def advertised_endpoints(
    config: BrokerConfig, bound_port: Callable[[str], int], open_listeners: Set[str]
) -> tuple[EndPoint, ...]:
    """Blocks if this machine's name is looked up. The open advertised listeners, as other hosts reach them.

    With real ports (`bound_port(listener name)`) and real hosts.
    """
    return tuple(
        end._replace(host=end.host or socket.getfqdn(), port=end.port or bound_port(end.listener_name))
        for end in config.advertised_listeners
        if end.listener_name in open_listeners
    )


def registration(
    config: BrokerConfig, *, broker_id: int, endpoints: tuple[EndPoint, ...], now_ms: int
) -> BrokerRegistration:
    """The znode /brokers/ids/<broker_id>."""
    return BrokerRegistration(broker_id=broker_id, endpoints=endpoints, rack=config.broker_rack, timestamp_ms=now_ms)
