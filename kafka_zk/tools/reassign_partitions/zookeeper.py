"""kafka-reassign-partitions.sh --zookeeper host:port[/chroot]: the tool of 2.8, which goes past the brokers.

Role        Acts, through a session of its own. Moves are asked for by /admin/reassign_partitions, which a controller
            takes up; no broker is asked. Texts and exit codes are those of 2.8.
Source      kafka.admin.ReassignPartitionsCommand of 2.8.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.endings import exit_code_of, tell_as_thrown
from kafka_zk.tools.common.failures import FAILURES
from kafka_zk.tools.common.jackson_errors import SOURCE
from kafka_zk.tools.common.java_files import read_file
from kafka_zk.tools.common.java_output import JavaError, show_warnings
from kafka_zk.tools.common.options import Options, usage_of
from kafka_zk.tools.common.zookeeper_option import connected
from kafka_zk.tools.reassign_partitions import bootstrap, moves
from kafka_zk.tools.reassign_partitions.bootstrap import EXISTING, NO_THROTTLE, RUN_VERIFY
from kafka_zk.tools.reassign_partitions.ends import Told, after_interrupt, told
from kafka_zk.tools.reassign_partitions.options import ZOOKEEPER_OPTIONS, checked_action_for_zookeeper
from kafka_zk.tools.reassign_partitions.plan_file import (
    Assignment,
    Plan,
    checked_for_execute,
    checked_for_generate,
    failed,
    in_order,
    operation_failed,
    plan_text,
    read_plan,
)
from kafka_zk.tools.reassign_partitions.states import PartitionState, partition_lines
from kafka_zk.zk.entity_configs import announce_config_change, entity_config, write_entity_config_before_any_broker
from kafka_zk.zk.errors import NodeExists, NoNode, ZkError
from kafka_zk.zk.registration import live_brokers
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.topics import topic_assignments
from kafka_zk.zk.znodes import ReassignPartitionsZNode

DEPRECATED = "Warning: --zookeeper is deprecated, and will be removed in a future version of Kafka."
IGNORED = (
    "Warning: ignoring deprecated --zookeeper option because --bootstrap-server was specified.  The --zookeeper option "
    "will be removed in a future version of Kafka."
)
INCOMPLETE = (
    "Warning: because you are using the deprecated --zookeeper option, the results may be incomplete.  "
    "Use --bootstrap-server instead for more accurate results."
)
NEEDS_BROKERS = "bootstrap-server needs to be provided when replica reassignments are present."
# 2.8 kept two exceptions in other packages, and called an int by Scala's name.
_OLD_WORDS = {
    "`Integer`": "`Int`",
    "org.apache.kafka.server.common.AdminCommandFailedException": "kafka.common.AdminCommandFailedException",
    "org.apache.kafka.server.common.AdminOperationException": "kafka.admin.AdminOperationException",
}
SHOWN_OF_TEXT = 500
_DUPLICATES = re.compile(r"(contains duplicate entries: )\[(.*)\]")


def main(arguments: Sequence[str], run_with_brokers: Callable[[str, Options], None]) -> int:
    """Both connections may be named: then `run_with_brokers` does the action, as 2.8 went on without ZooKeeper."""
    show_warnings()
    return exit_code_of(
        lambda: _main(arguments, run_with_brokers),
        tool="reassign_partitions",
        tell=tell_as_thrown,
        usage=partial(usage_of, variant="zookeeper"),
    )


def _main(arguments: Sequence[str], run_with_brokers: Callable[[str, Options], None]) -> int:
    options = Options(ZOOKEEPER_OPTIONS, arguments)
    action = checked_action_for_zookeeper(options)
    has_brokers = options.has("bootstrap-server")

    def act() -> None:
        if has_brokers:
            print(IGNORED)
            run_with_brokers(action, options)
        else:
            print(DEPRECATED)
            with connected(options) as zk:
                _act(action, options, zk)

    return told(
        act,
        failures=(*FAILURES, ZkError),
        in_words=_in_old_words,
        interrupted=after_interrupt(action, options, "bootstrap-server" if has_brokers else "zookeeper"),
    )


def _in_old_words(text: str) -> str:
    for new, old in _OLD_WORDS.items():
        text = text.replace(new, old)
    return _DUPLICATES.sub(lambda found: found[1] + found[2].replace(", ", ","), text)


def _act(action: str, options: Options, zk: ZkClient) -> None:
    if action == "generate":
        text = read_file(options.text("topics-to-move-json-file") or "")
        _generate(zk, text, options.text("broker-list") or "", rack_aware=not options.has("disable-rack-aware"))
        return
    text = read_file(options.text("reassignment-json-file") or "")
    if action == "verify":
        _verify(zk, text, preserve_throttles=options.has("preserve-throttles"))
    else:
        throttle = options.long("throttle")
        _execute(zk, text, NO_THROTTLE if throttle is None else throttle)


def _assignment(zk: ZkClient, topics: Iterable[str]) -> dict[TopicPartition, Sequence[int]]:
    return {
        TopicPartition(name, index): replicas.replicas
        for name, topic in topic_assignments(zk, dict.fromkeys(topics)).items()
        for index, replicas in topic.partitions.items()
    }


def _racks(zk: ZkClient) -> dict[int, str | None]:
    try:
        return {broker_id: broker.rack for broker_id, broker in sorted(live_brokers(zk).items())}
    except NoNode:
        return {}


def _generate(zk: ZkClient, text: str, broker_list: str, *, rack_aware: bool) -> None:
    brokers, topics = checked_for_generate(text, broker_list)
    current = _assignment(zk, topics)
    racks = {broker: rack if rack_aware else None for broker, rack in _racks(zk).items() if broker in brokers}
    if len({rack is None for rack in racks.values()}) > 1:
        raise operation_failed(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information."
        )
    proposed = bootstrap.proposed_assignment(current, racks)
    print(f"Current partition replica assignment\n{plan_text(current)}\n")
    print(f"Proposed partition reassignment configuration\n{plan_text(proposed)}")


def _read_plan(text: str) -> Plan:
    """The file's plan. What Jackson says of a text that is no JSON names the text: its release of 2.8 did."""
    try:
        return read_plan(text)
    except JavaError as error:
        reason = error.__cause__
        if not isinstance(reason, JavaError):
            raise
        rest = len(text) - SHOWN_OF_TEXT
        shown = f'Source: (String)"{text[:SHOWN_OF_TEXT]}"' + (f"[truncated {rest} chars]" if rest > 0 else "")
        named = JavaError(str(error).replace(SOURCE, shown), error.java_class)
        raise named from JavaError(str(reason).replace(SOURCE, shown), reason.java_class)


# --- verify ----------------------------------------------------------------------------------------------------------


def _verify(zk: ZkClient, text: str, *, preserve_throttles: bool) -> None:
    plan = _read_plan(text)
    if plan.log_dirs:
        raise failed(NEEDS_BROKERS)
    print(INCOMPLETE)
    moving = _moving(zk)
    current = _assignment(zk, plan.topics)
    states = {
        partition: PartitionState(current.get(partition, ()), target, partition not in moving)
        for partition, target in plan.partitions
    }
    print(partition_lines(states, completed="complete"))
    if not moving and not preserve_throttles:
        _clear(zk, "brokers", [*_racks(zk), *(each for _, replicas in plan.partitions for each in replicas)])
        _clear(zk, "topics", plan.topics)


def _moving(zk: ZkClient) -> Mapping[TopicPartition, tuple[int, ...]]:
    try:
        data, stat = zk.get(ReassignPartitionsZNode.PATH)
    except NoNode:
        return {}
    return ReassignPartitionsZNode.decode(data, stat)


_LEVELS = {"brokers": ("broker", moves.BROKER_THROTTLES), "topics": ("topic", moves.TOPIC_THROTTLES)}


def _clear(zk: ZkClient, entities: str, names: Iterable[object]) -> None:
    level, throttles = _LEVELS[entities]
    each_once = [*dict.fromkeys(map(str, names))]
    plural = "" if len(each_once) == 1 else "s"
    print(f"Clearing {level}-level throttles on {level}{plural} {','.join(each_once)}")
    for name in each_once:
        overrides = entity_config(zk, f"{entities}/{name}")
        if any(overrides.pop(throttle, None) is not None for throttle in throttles):
            _write(zk, f"{entities}/{name}", {key: text for key, text in overrides.items() if key not in throttles})


def _write(zk: ZkClient, entity: str, overrides: Mapping[str, str]) -> None:
    write_entity_config_before_any_broker(zk, entity, overrides)
    announce_config_change(zk, entity)


# --- execute ---------------------------------------------------------------------------------------------------------


def _execute(zk: ZkClient, text: str, throttle: int) -> None:
    plan = _read_plan(text)
    proposed = checked_for_execute(plan)
    if plan.log_dirs:
        raise failed(NEEDS_BROKERS)
    current = _assignment(zk, plan.topics)
    _check_existing(proposed, current, _racks(zk))
    if zk.exists(ReassignPartitionsZNode.PATH) is not None:
        raise Told(EXISTING)
    before = {partition: current[partition] for partition in proposed}
    print(
        f"Current partition replica assignment\n\n{plan_text(before)}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback"
    )
    if throttle >= 0:
        _throttle(zk, moves.proposed_moves({}, proposed, current), throttle)
    wanted = {partition: tuple(replicas) for partition, replicas in proposed.items()}
    try:
        zk.create(ReassignPartitionsZNode.PATH, ReassignPartitionsZNode.encode(wanted), make_parents=True)
    except NodeExists:
        # Somebody came first, between the look and the write.
        raise Told(EXISTING) from None
    listed = ",".join(map(str, in_order(proposed)))
    print(f"Successfully started partition reassignment{'' if len(proposed) == 1 else 's'} for {listed}")


def _check_existing(proposed: Assignment, current: Assignment, brokers: Mapping[int, str | None]) -> None:
    if missing := [partition for partition in proposed if partition not in current]:
        listed = ", ".join(map(str, missing))
        raise failed(f"The proposed assignment contains non-existent partitions: List({listed})")
    unknown = dict.fromkeys(each for replicas in proposed.values() for each in replicas if each not in brokers)
    if unknown:
        listed = ",".join(map(str, unknown))
        raise failed(f"The proposed assignment contains non-existent brokerIDs: {listed}")


def _throttle(zk: ZkClient, moving: moves.Moves, rate: int) -> None:
    print(RUN_VERIFY)
    leaders, followers = moves.leader_throttles(moving), moves.follower_throttles(moving)
    for topic in leaders:
        replicas = {moves.LEADER_REPLICAS: leaders[topic], moves.FOLLOWER_REPLICAS: followers[topic]}
        _write(zk, f"topics/{topic}", entity_config(zk, f"topics/{topic}") | replicas)
    for broker_id in moves.moving_brokers(moving):
        rates = {moves.LEADER_RATE: str(rate), moves.FOLLOWER_RATE: str(rate)}
        _write(zk, f"brokers/{broker_id}", entity_config(zk, f"brokers/{broker_id}") | rates)
    print(f"The inter-broker throttle limit was set to {rate} B/s")
