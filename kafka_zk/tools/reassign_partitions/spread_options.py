"""Options of --drain and --balance, and what is printed before anything moves.

Role        Pure. Not in Apache's tool, whose usage text says nothing of it; `--drain --help` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.failures import Refused
from kafka_zk.tools.common.java_values import java_integer
from kafka_zk.tools.common.options import Option, Options
from kafka_zk.tools.reassign_partitions.cluster_load import ClusterLoad

HELP = """Moves replicas so that brokers are empty or evenly full. Shows what it will do, and asks, before it does it.

  kafka-reassign-partitions.sh --bootstrap-server HOST:PORT --drain BROKER[,BROKER...] [OPTION...]
  kafka-reassign-partitions.sh --bootstrap-server HOST:PORT --balance [OPTION...]

  --drain BROKERS           leave no replica on these brokers
  --balance                 level bytes, replicas and preferred leaders, with as few moves as can be
  --command-config FILE     properties of the admin client
  --throttle RATE           bytes a second that a broker sends or receives for moves; removed at the end
  --at-a-time N             partitions that move at the same time (default: 20)
  --yes                     do not ask

Ctrl-C waits for the moves under way, removes the throttle, and leaves the rest where it is; a second one ends at once.
A terminal that closes is a Ctrl-C.
The same command again goes on with what is left. Works with Apache Kafka's brokers, too.
"""
AT_A_TIME = 20
ASSUMED_RATE = 50_000_000
"""Bytes a second of a broker, for the time that is told where no throttle is given."""
OPTIONS = (
    *(Option(name, True) for name in ("bootstrap-server", "command-config", "drain", "throttle", "at-a-time")),
    *(Option(name) for name in ("balance", "yes", "help")),
)
UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


class Wanted(NamedTuple):
    """What a command line asks for; brokers to drain, or none for --balance. `throttle` in bytes a second."""

    drained: tuple[int, ...]
    throttle: int | None
    at_a_time: int
    is_confirmed: bool


def read(options: Options) -> Wanted:
    """Raises Refused."""
    if not options.has("bootstrap-server"):
        raise Refused("--bootstrap-server is missing")
    if options.has("drain") == options.has("balance"):
        raise Refused("one of --drain and --balance is needed, not both")
    drained: tuple[int, ...] = ()
    if options.has("drain"):
        words = (options.text("drain") or "").split(",")
        drained = tuple(dict.fromkeys(_number(word.strip(), "--drain", least=0) for word in words))
    throttle, at_a_time = options.text("throttle"), options.text("at-a-time")
    return Wanted(
        drained,
        None if throttle is None else _number(throttle, "--throttle", least=1024),
        AT_A_TIME if at_a_time is None else _number(at_a_time, "--at-a-time", least=1),
        options.has("yes"),
    )


def _number(text: str, name: str, *, least: int) -> int:
    try:
        value = java_integer(text) if name != "--throttle" else int(text)
    except ValueError:
        raise Refused(f"{name}: {text!r} is no whole number") from None
    if value < least:
        raise Refused(f"{name}: {value} is less than {least}")
    return value


# --- the plan, told --------------------------------------------------------------------------------------------------


class Change(NamedTuple):
    """The replicas of a partition before and after."""

    partition: TopicPartition
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def coming(self) -> list[int]:
        return [each for each in self.after if each not in self.before]

    @property
    def leaving(self) -> list[int]:
        return [each for each in self.before if each not in self.after]


def changes(before: Mapping[TopicPartition, tuple[int, ...]], load: ClusterLoad) -> list[Change]:
    """What differs, those with moves first, by topic and number."""
    found = [
        Change(partition, replicas, load.assignment[partition])
        for partition, replicas in before.items()
        if load.assignment[partition] != replicas
    ]
    return sorted(found, key=lambda change: (not change.coming, change.partition))


def table(before: Mapping[TopicPartition, tuple[int, ...]], load: ClusterLoad) -> list[str]:
    """A line for each broker, with what it has and will have."""
    rows = [("BROKER", "RACK", "REPLICAS", "", "LEADERS", "", "BYTES", "", "RECEIVES")]
    old = _sums(before.items(), load)
    new = _sums(load.assignment.items(), load)
    receives = received(changes(before, load), load)
    for broker_id, broker in sorted(load.brokers.items()):
        cells = [str(broker_id), broker.rack or "-"]
        for column in range(3):
            first, then = old[broker_id][column], new[broker_id][column]
            shown = [bytes_text(each) if column == 2 else str(each) for each in (first, then)]
            cells += [shown[0], f"-> {shown[1]}" if first != then else ""]
        rows.append((*cells, bytes_text(receives.get(broker_id, 0))))  # type: ignore[arg-type]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _sums(
    assignment: Iterable[tuple[TopicPartition, Sequence[int]]], load: ClusterLoad
) -> dict[int, tuple[int, int, int]]:
    sums = dict.fromkeys(load.brokers, (0, 0, 0))
    for partition, replicas in assignment:
        size = load.size(partition)
        for position, broker_id in enumerate(replicas):
            count, leaders, total = sums[broker_id]
            sums[broker_id] = (count + 1, leaders + (position == 0), total + size)
    return sums


def received(planned: Iterable[Change], load: ClusterLoad) -> dict[int, int]:
    """Bytes that each broker receives."""
    sums: dict[int, int] = {}
    for change in planned:
        for broker_id in change.coming:
            sums[broker_id] = sums.get(broker_id, 0) + load.size(change.partition)
    return sums


def summary(planned: Sequence[Change], load: ClusterLoad, throttle: int | None) -> str:
    """One sentence: how much moves, and how long that takes about."""
    moving = [change for change in planned if change.coming]
    replicas = sum(len(change.coming) for change in moving)
    total = sum(load.size(change.partition) * len(change.coming) for change in moving)
    sent: dict[int, int] = received(moving, load)
    for change in moving:
        # The first of those that stay sends, mostly: the leader.
        source = next((each for each in change.before if each in change.after), change.before[0])
        sent[source] = sent.get(source, 0) + load.size(change.partition) * len(change.coming)
    seconds = max(sent.values(), default=0) / (throttle or ASSUMED_RATE)
    rate = f"{bytes_text(throttle or ASSUMED_RATE)}/s a broker" + ("" if throttle else ", an assumption")
    others = len(planned) - len(moving)
    leaders = f" {others} partitions only change their preferred leader." if others else ""
    return (
        f"{replicas} replicas of {len(moving)} partitions move, {bytes_text(total)} together: about "
        f"{time_text(seconds)} at {rate}.{leaders}"
    )


def bytes_text(number: float) -> str:
    """Three digits and a unit of 1,000s."""
    for unit in UNITS:
        if number < 1000 or unit == UNITS[-1]:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError("unreachable: the last unit takes all")


def time_text(seconds: float) -> str:
    """Hours, minutes and seconds, without those that are 0 in front."""
    whole = max(1, round(seconds))
    parts = ((whole // 3600, "h"), (whole % 3600 // 60, "min"), (whole % 60, "s"))
    shown = [f"{number} {unit}" for number, unit in parts if number]
    return " ".join(shown[:2])


def progress(done: int, total: int, done_bytes: int, total_bytes: int, width: int = 30) -> str:
    """A bar of what has arrived: by bytes where there are any."""
    share = done_bytes / total_bytes if total_bytes else done / total if total else 1.0
    filled = int(share * width)
    return (
        f"[{'#' * filled}{'-' * (width - filled)}] {done} of {total} partitions, "
        f"{bytes_text(done_bytes)} of {bytes_text(total_bytes)}"
    )
