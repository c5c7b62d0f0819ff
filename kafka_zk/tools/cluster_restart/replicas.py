"""Whether every replica is in sync, as one broker sees it.

Role        `lagging`, `address_for` and `restart_order` are pure; `Asker` acts.
Invariants  It is always the broker that was restarted that is asked: what it knows, the controller told it after it
            had left every ISR. Another broker may not have heard yet that it was away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import TopicDescription
from kafka_zk.client.errors import AuthenticationException, KafkaException
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.protocol.errors import BrokerError, UnknownTopicOrPartition
from kafka_zk.tools.common.failures import Refused

CALL_MS = "10000"
EVERY_INTERFACE = ("", "0.0.0.0", "::")


def lagging(topics: Mapping[str, TopicDescription | BrokerError]) -> list[str]:
    """The partitions (`topic-0`) of which a replica is not in the ISR, and topics that could not be described."""
    names = []
    for name, topic in topics.items():
        if isinstance(topic, UnknownTopicOrPartition):
            continue  # Deleted since it was listed.
        if isinstance(topic, BrokerError):
            names.append(name)
            continue
        names += [f"{name}-{each.partition}" for each in topic.partitions if not {*each.replicas} <= {*each.isr}]
    return sorted(names)


def address_for(config: BrokerConfig, protocol: str, port: int | None) -> str:
    """HOST:PORT of the broker's listener that speaks `protocol`. Raises Refused where there is none.

    `port`: that of its first listener as long as it runs, which may differ from a file that was changed since.
    """
    for index, listener in enumerate(config.listeners):
        if listener.security_protocol != protocol:
            continue
        told = next(each for each in config.advertised_listeners if each.listener_name == listener.listener_name)
        host = next((each for each in (listener.host, told.host) if each not in EVERY_INTERFACE), "localhost")
        where = port if index == 0 and port is not None else listener.port
        return f"[{host}]:{where}" if ":" in host else f"{host}:{where}"
    raise Refused(
        f"broker {config.broker_id} has no listener that speaks {protocol}: name another with security.protocol in the "
        "file of --command-config"
    )


def restart_order(broker_ids: Iterable[int], controller_id: int) -> list[int]:
    """By id, but the controller last: it then moves once."""
    return sorted(broker_ids, key=lambda broker_id: (broker_id == controller_id, broker_id))


class Asker:
    """Asks single brokers, as the client that `client` describes."""

    def __init__(self, client: Mapping[str, str]) -> None:
        self._client = {"default.api.timeout.ms": CALL_MS, "request.timeout.ms": CALL_MS, **client}

    @property
    def protocol(self) -> str:
        return self._client.get("security.protocol", "PLAINTEXT")

    def controller(self, address: str) -> int:
        """Blocks. The controller's id; -1: none, or not known. Raises KafkaException, BrokerError."""
        with self._at(address) as admin:
            return admin.describe_cluster().controller_id

    def not_in_sync(self, broker_id: int, address: str) -> str | None:
        """Blocks. What is not as it should be yet, in the eyes of this broker; None: all is in sync.

        Raises AuthenticationException: time does not mend that.
        """
        try:
            with self._at(address) as admin:
                if broker_id not in (node.id for node in admin.describe_cluster().nodes):
                    return f"broker {broker_id} is not in the cluster yet"
                names = [each.name for each in admin.list_topics(internal=True)]
                behind = lagging(admin.describe_each_topic(names)) if names else []
        except AuthenticationException:
            raise
        except (KafkaException, BrokerError) as error:
            return f"broker {broker_id} does not answer at {address}: {error}"
        if not behind:
            return None
        some = ", ".join(behind[:3]) + (" ..." if len(behind) > 3 else "")
        return (
            f"{len(behind)} {'partition has' if len(behind) == 1 else 'partitions have'} replicas out of sync: {some}"
        )

    def _at(self, address: str) -> AdminClient:
        return AdminClient({**self._client, "bootstrap.servers": address})
