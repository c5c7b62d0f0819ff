"""Throttles of a reassignment, set and cleared through the brokers.

Role        Acts, through the admin client, and says what it did.
Source      ReassignPartitionsCommand: modifyTopicThrottles, modifyInterBrokerThrottle, modifyLogDirThrottle,
            clearAllThrottles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kafka_zk.client.admin.admin_results import ConfigChange, ConfigOperation, ConfigResource, ResourceType
from kafka_zk.tools.common.failures import FAILURES
from kafka_zk.tools.common.java_output import copied_order, execution_error
from kafka_zk.tools.reassign_partitions import moves
from kafka_zk.tools.reassign_partitions.moves import Moves
from kafka_zk.tools.reassign_partitions.plan_file import Plan, number_order

if TYPE_CHECKING:
    from kafka_zk.client.admin.admin_client import AdminClient

Changes = Mapping[ConfigResource, list[ConfigChange]]


def set_inter_broker(admin: AdminClient, moving: Moves, rate: int) -> None:
    """Blocks. Throttle what moves, bytes a second for each broker. Raises JavaError."""
    leaders, followers = moves.leader_throttles(moving), moves.follower_throttles(moving)
    change(
        admin,
        {
            ConfigResource(ResourceType.TOPIC, topic): [
                set_to(moves.LEADER_REPLICAS, leaders[topic]),
                set_to(moves.FOLLOWER_REPLICAS, followers[topic]),
            ]
            for topic in leaders
        },
    )
    both = [set_to(moves.LEADER_RATE, str(rate)), set_to(moves.FOLLOWER_RATE, str(rate))]
    change(admin, {broker(broker_id): both for broker_id in moves.moving_brokers(moving)})
    print(f"The inter-broker throttle limit was set to {rate} B/s")


def set_log_dirs(admin: AdminClient, brokers: Iterable[int], rate: int) -> None:
    """Blocks. Throttle moves between the directories of brokers. Raises JavaError."""
    change(admin, {broker(broker_id): [set_to(moves.LOG_DIRS_RATE, str(rate))] for broker_id in brokers})
    print(f"The replica-alter-dir throttle limit was set to {rate} B/s")


def clear_all(admin: AdminClient, plan: Plan) -> None:
    """Blocks. Remove every throttle of every broker, and of the plan's topics. Raises JavaError."""
    try:
        living = [node.id for node in admin.describe_cluster().nodes]
    except FAILURES as error:
        raise execution_error(error) from error
    brokers = number_order([*number_order(living), *(each for _, replicas in plan.partitions for each in replicas)])
    told = ",".join(map(str, brokers))
    print(f"Clearing broker-level throttles on broker{'' if len(brokers) == 1 else 's'} {told}")
    change(admin, {broker(broker_id): [*map(deleted, moves.BROKER_THROTTLES)] for broker_id in brokers})
    topics = copied_order(plan.topics)
    print(f"Clearing topic-level throttles on topic{'' if len(topics) == 1 else 's'} {','.join(topics)}")
    change(
        admin,
        {ConfigResource(ResourceType.TOPIC, topic): [*map(deleted, moves.TOPIC_THROTTLES)] for topic in topics},
    )


def broker(broker_id: int) -> ConfigResource:
    return ConfigResource(ResourceType.BROKER, str(broker_id))


def set_to(name: str, value: str) -> ConfigChange:
    return ConfigChange(name, ConfigOperation.SET, value)


def deleted(name: str) -> ConfigChange:
    return ConfigChange(name, ConfigOperation.DELETE)


def change(admin: AdminClient, changes: Changes) -> None:
    """Blocks. Change configs: of topics in one request, of each broker in its own. Raises JavaError, the first error,
    once all were sent."""
    of_topics = {each: wanted for each, wanted in changes.items() if each.type == ResourceType.TOPIC}
    first: Exception | None = None
    for part in [of_topics] if of_topics else [{each: wanted} for each, wanted in changes.items()]:
        try:
            admin.incremental_alter_configs(part)
        except FAILURES as error:
            first = first or error
    if first is not None:
        raise execution_error(first) from first
