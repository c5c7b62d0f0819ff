"""Transactions: six lives of a producer, each in other versions of all calls; what is refused; what strangers write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.add_offsets_to_txn import ADD_OFFSETS_TO_TXN_REQUEST
from kafka_zk.protocol.messages.add_partitions_to_txn import ADD_PARTITIONS_TO_TXN_REQUEST
from kafka_zk.protocol.messages.create_topics import CREATE_TOPICS_REQUEST
from kafka_zk.protocol.messages.describe_producers import DESCRIBE_PRODUCERS_REQUEST
from kafka_zk.protocol.messages.describe_transactions import (
    DESCRIBE_TRANSACTIONS_REQUEST,
    DescribeTransactionsRequest,
)
from kafka_zk.protocol.messages.end_txn import END_TXN_REQUEST
from kafka_zk.protocol.messages.fetch import FETCH_REQUEST
from kafka_zk.protocol.messages.find_coordinator import FIND_COORDINATOR_REQUEST, FindCoordinatorRequest
from kafka_zk.protocol.messages.init_producer_id import INIT_PRODUCER_ID_REQUEST
from kafka_zk.protocol.messages.list_offsets import LIST_OFFSETS_REQUEST
from kafka_zk.protocol.messages.list_transactions import LIST_TRANSACTIONS_REQUEST
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest, MetadataRequestTopic
from kafka_zk.protocol.messages.offset_fetch import OFFSET_FETCH_REQUEST
from kafka_zk.protocol.messages.produce import PRODUCE_REQUEST
from kafka_zk.protocol.messages.txn_offset_commit import TXN_OFFSET_COMMIT_REQUEST
from kafka_zk.protocol.messages.write_txn_markers import WRITE_TXN_MARKERS_REQUEST, WriteTxnMarkersRequest
from tests.interop.replay.data import remember_ids
from tests.interop.replay.groups import STRANGE_IDS
from tests.interop.replay.scenario import Build, Exchange, World
from tests.interop.replay.transaction_calls import (
    BROKERS_FROM,
    PARTITIONS,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    STUCK,
    TOPIC,
    Owner,
    Wanted,
    add,
    add_as_a_broker,
    add_offsets,
    commit_offset,
    create_topic,
    describe_producers,
    end,
    fetch,
    fetch_offset,
    find,
    init,
    list_offsets,
    list_transactions,
    produce,
    remember_owner,
    settle,
    wait_for_coordinators,
    write_marker,
)
from tests.support.allowed import Allowed, allowed
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient

FIND, INIT, END, PRODUCE = FIND_COORDINATOR_REQUEST, INIT_PRODUCER_ID_REQUEST, END_TXN_REQUEST, PRODUCE_REQUEST
ADD, ADD_OFFSETS, COMMIT = ADD_PARTITIONS_TO_TXN_REQUEST, ADD_OFFSETS_TO_TXN_REQUEST, TXN_OFFSET_COMMIT_REQUEST
DESCRIBE, LIST, PRODUCERS = DESCRIBE_TRANSACTIONS_REQUEST, LIST_TRANSACTIONS_REQUEST, DESCRIBE_PRODUCERS_REQUEST
MARK, FETCH, OFFSETS, COMMITTED = WRITE_TXN_MARKERS_REQUEST, FETCH_REQUEST, LIST_OFFSETS_REQUEST, OFFSET_FETCH_REQUEST

ROUNDS = 6
EVENLY: dict[Message[Any], range] = {
    FIND: range(1, 7),
    INIT: range(6),
    ADD: range(BROKERS_FROM),
    ADD_OFFSETS: range(5),
    COMMIT: range(5),
    END: range(5),
    PRODUCE: range(3, 12),
    FETCH: range(4, 18),
    OFFSETS: range(2, 10),
    COMMITTED: range(7, 10),
    MARK: range(2),
    DESCRIBE: range(1),
    LIST: range(2),
    PRODUCERS: range(1),
}
"""The versions of each call, spread over the rounds."""
TIMES = frozenset({"transaction_start_time_ms", "last_timestamp"})
LARGEST_TIME = frozenset({"timestamp"})
"""Of records: the largest is that of a marker."""
MAPS = frozenset(
    {
        "transaction_states",
        "active_producers",
        "topics",
        "results_by_transaction",
        "results_by_topic_v3_and_below",
        "topic_results",
        "results_by_partition",
    }
)
"""Lists that Kafka makes from hash maps."""
MAPS_OF_MARKERS = MAPS | {"partitions"}
FORGOTTEN = dict.fromkeys(
    ("committed_offset", "committed_leader_epoch", "metadata"), allowed("offsets-beside-a-zombie")
)
STATES = ("Empty", "Ongoing", "PrepareCommit", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence")
INTERNAL = ("__consumer_offsets", "__transaction_state")
FENCED = f"{STUCK}-by-a-marker"
LATEST, EARLIEST, LARGEST = -1, -2, -3


def call(
    name: str,
    message: Message[Any],
    build: Build,
    versions: Sequence[int] = (),
    keep: Any = None,
    by_kind: frozenset[str] = TIMES,
    ignore: Mapping[str, Allowed] | None = None,
) -> Exchange:
    return Exchange(
        f"txn: {name}",
        message,
        build,
        versions or EVENLY[message],
        keep=keep,
        ignore=ignore or {},
        unordered=MAPS_OF_MARKERS if message is MARK else MAPS,
        by_kind=by_kind,
    )


def describe(*txns: str) -> Build:
    def build(world: World, version: int) -> DescribeTransactionsRequest:
        settle(world)
        return DescribeTransactionsRequest(transactional_ids=list(txns))

    return build


def first_find(world: World, version: int) -> FindCoordinatorRequest:
    """Makes the topic of the coordinators."""
    return FindCoordinatorRequest(key_type=1, key="t")


def once_coordinated(build: Build) -> Build:
    def waits(world: World, version: int) -> Any:
        wait_for_coordinators(world)
        return build(world, version)

    return waits


def versions_of_round(message: Message[Any], number: int) -> tuple[int, ...]:
    versions = EVENLY[message]
    return (versions[number * (len(versions) - 1) // (ROUNDS - 1)],)


def life(number: int) -> Iterator[Exchange]:
    """A producer commits, aborts, is fenced, comes back, and is aborted by its successor."""
    txn, group = f"life-{number}", f"group-{number}"

    def step(name: str, message: Message[Any], build: Build, keep: Any = None) -> Exchange:
        return call(f"{txn}: {name}", message, build, versions_of_round(message, number), keep)

    def look(name: str, *, is_pending: bool = False) -> Iterator[Exchange]:
        yield step(f"described {name}", DESCRIBE, describe(txn))
        yield step(f"producers {name}", PRODUCERS, describe_producers({TOPIC: range(PARTITIONS)}))
        for level in (READ_UNCOMMITTED, READ_COMMITTED):
            for partition in range(PARTITIONS):
                yield step(f"read {partition} at {level} {name}", FETCH, fetch(partition, 0, level))
            for timestamp in (LATEST, EARLIEST):
                yield step(f"offset of {timestamp} at {level} {name}", OFFSETS, list_offsets(timestamp, level))
        for stable in (True, False):
            read = fetch_offset(group, stable=stable, is_pending=is_pending)
            yield step(f"offset of the group, stable {stable}, {name}", COMMITTED, read)

    def ends(name: str, ahead: int = 0) -> Iterator[Exchange]:
        for committed in (True, False):
            yield step(f"{name}: commit {committed}", END, end(txn, committed=committed, ahead=ahead))

    keep = remember_owner(txn)
    yield step("coordinator", FIND, find(txn))
    yield step("init", INIT, init(txn), keep)
    yield step("described at first", DESCRIBE, describe(txn))
    yield from ends("end of nothing")
    # A transaction that is committed.
    yield step("produce before add", PRODUCE, produce(txn, 0, 0))
    yield step("add", ADD, add(txn, {TOPIC: [0, 1]}))
    yield step("add again", ADD, add(txn, {TOPIC: [0]}))
    yield step("add of yesterday", ADD, add(txn, {TOPIC: [0]}, ahead=-1))
    yield step("add of tomorrow", ADD, add(txn, {TOPIC: [0]}, ahead=1))
    yield step("produce", PRODUCE, produce(txn, 0, 0, count=2))
    yield step("produce twice", PRODUCE, produce(txn, 0, 0, count=2))
    yield step("produce with a gap", PRODUCE, produce(txn, 0, 7))
    yield step("produce of yesterday", PRODUCE, produce(txn, 0, 2, ahead=-1))
    yield step("produce outside", PRODUCE, produce(txn, 0, 2, transactional=False, named=None))
    yield step("produce to what is not added", PRODUCE, produce(txn, 2, 0))
    yield step("produce to a second one", PRODUCE, produce(txn, 1, 0))
    yield step("offsets before they are added", COMMIT, commit_offset(txn, group, 1))
    yield step("add offsets", ADD_OFFSETS, add_offsets(txn, group))
    yield step("add offsets of yesterday", ADD_OFFSETS, add_offsets(txn, group, ahead=-1))
    yield step("offsets", COMMIT, commit_offset(txn, group, 5))
    yield step("offsets of yesterday", COMMIT, commit_offset(txn, group, 6, ahead=-1))
    yield from look("while it goes on", is_pending=True)
    yield from ends("end of yesterday", ahead=-1)
    yield from ends("end of tomorrow", ahead=1)
    yield step("commit", END, end(txn, committed=True))
    yield from ends("after the commit")
    yield from look("after the commit")
    # One that is aborted.
    yield step("add after the commit", ADD, add(txn, {TOPIC: [1]}))
    yield step("produce after the commit", PRODUCE, produce(txn, 1, 1))
    yield step("produce to what was added before", PRODUCE, produce(txn, 0, 2))
    yield step("add offsets after the commit", ADD_OFFSETS, add_offsets(txn, group))
    yield step("offsets after the commit", COMMIT, commit_offset(txn, group, 9))
    yield step("abort", END, end(txn, committed=False))
    yield from ends("after the abort")
    yield from look("after the abort")
    # Its successor.
    yield step("init again", INIT, init(txn, timeout_ms=30_000), keep)
    yield step("described after init", DESCRIBE, describe(txn))
    yield step("the old one adds", ADD, add(txn, {TOPIC: [2]}, ahead=-1))
    yield step("the old one adds offsets", ADD_OFFSETS, add_offsets(txn, group, ahead=-1))
    yield from ends("the old one", ahead=-1)
    yield step("the new one adds", ADD, add(txn, {TOPIC: [1, 2]}))
    yield step("the old one produces", PRODUCE, produce(txn, 1, 2, ahead=-1))
    yield step("the new one produces with a gap", PRODUCE, produce(txn, 1, 2))
    yield step("the new one produces", PRODUCE, produce(txn, 1, 0))
    yield step("the new one produces elsewhere", PRODUCE, produce(txn, 2, 3))
    yield step("init during it", INIT, init(txn))
    yield step("the fenced one produces", PRODUCE, produce(txn, 1, 1))
    yield step("the fenced one adds", ADD, add(txn, {TOPIC: [0]}))
    yield from ends("the fenced one")
    yield from look("after the fencing")
    yield step("init after the fencing", INIT, init(txn), keep)
    yield step("described at last", DESCRIBE, describe(txn))


def bumps(version: int) -> Iterator[Exchange]:
    """KIP-360: a producer asks for its next epoch."""
    txn = f"bumped-{version}"

    def step(name: str, message: Message[Any], build: Build, keep: Any = None) -> Exchange:
        versions = (version,) if message is INIT else (EVENLY[message][-1],)
        return call(f"{txn}: {name}", message, build, versions, keep)

    keep = remember_owner(txn)
    yield step("nobody's", INIT, init(txn, owner=Owner(77, 3)), keep)
    yield step("init", INIT, init(txn), keep)
    yield step("next", INIT, init(txn, ahead=0), keep)
    yield step("next, asked again", INIT, init(txn, ahead=-1), keep)
    yield step("of long ago", INIT, init(txn, ahead=-2), keep)
    yield step("of tomorrow", INIT, init(txn, ahead=1), keep)
    yield step("of another", INIT, init(txn, owner=Owner(12_345, 0)), keep)
    yield step("without epoch", INIT, init(txn, owner=Owner(1, -1)), keep)
    yield step("without id", INIT, init(txn, owner=Owner(-1, 1)), keep)
    yield step("below zero", INIT, init(txn, owner=Owner(-5, -5)), keep)
    yield call(f"{txn}: add", ADD, add(txn, {TOPIC: [0]}), (3,))
    yield step("during a transaction, of yesterday", INIT, init(txn, ahead=-1), keep)
    yield step("during a transaction", INIT, init(txn, ahead=0), keep)
    yield step("after it, with the old epoch", INIT, init(txn, ahead=0), keep)
    yield step("after it", INIT, init(txn, ahead=1), keep)
    yield step("described", DESCRIBE, describe(txn))
    yield step("a transactional id is not needed", INIT, init(None, owner=Owner(5, 5)))


STRANGERS = (
    *(
        call(f"init with a timeout of {timeout_ms}", INIT, init("timeouts", timeout_ms=timeout_ms))
        for timeout_ms in (0, -1, 900_001, 2**31 - 1, 1, 900_000)
    ),
    call("init of the nameless", INIT, init("")),
    call("init without a transaction", INIT, init(None, timeout_ms=0)),
    *(
        call(f"{what} {name}", message, build(txn), (EVENLY[message][-1],))
        for name, txn in STRANGE_IDS.items()
        for what, message, build in (
            ("init", INIT, init),
            ("coordinator", FIND, find),
            ("described", DESCRIBE, describe),
        )
    ),
    call("coordinators of many", FIND, find("a", "", "a", "life-0"), (4, 5, 6)),
    # Who is not known.
    call("add of nobody", ADD, add("nobody", {TOPIC: [0]})),
    call("add of the nameless", ADD, add("", {TOPIC: [0]})),
    call("add offsets of nobody", ADD_OFFSETS, add_offsets("nobody", "g")),
    call("add offsets of the nameless", ADD_OFFSETS, add_offsets("", "g")),
    call("offsets of nobody", COMMIT, commit_offset("nobody", "g", 1)),
    call("offsets of nobody with an epoch", COMMIT, commit_offset("nobody", "g", 1, owner=Owner(8_000, 0))),
    call("end of nobody", END, end("nobody", committed=True)),
    call("end of the nameless", END, end("", committed=False)),
    call("produce of nobody", PRODUCE, produce("nobody", 0, 0, owner=Owner(8_001, 0))),
    call("produce of the nameless", PRODUCE, produce("nobody", 0, 0, owner=Owner(8_002, 0), named="")),
    call("produce without a name", PRODUCE, produce("nobody", 0, 0, owner=Owner(8_003, 0), named=None)),
    # Who takes the name of another.
    call("guest: init", INIT, init("guest"), (5,), remember_owner("guest")),
    call("guest: another's id", ADD, add("guest", {TOPIC: [0]}, owner=Owner(0, 0))),
    call("guest: another's id for offsets", ADD_OFFSETS, add_offsets("guest", "g", owner=Owner(0, 0))),
    call("guest: another's id at the end", END, end("guest", committed=True, owner=Owner(0, 0))),
    call("guest: produce under another name", PRODUCE, produce("guest", 2, 0, named="life-0")),
    # What is added.
    call("guest: add nothing", ADD, add("guest", {})),
    call("guest: add no partitions", ADD, add("guest", {TOPIC: []})),
    call("guest: add an unknown topic", ADD, add("guest", {TOPIC: [0], "nowhere": [0]})),
    call("guest: add an unknown partition", ADD, add("guest", {TOPIC: [0, PARTITIONS, -1]})),
    call("guest: add a bad name", ADD, add("guest", {"a b": [0], "": [0]})),
    *(call(f"guest: add to {topic}", ADD, add("guest", {topic: [0]})) for topic in INTERNAL),
    call("guest: add to both", ADD, add("guest", {INTERNAL[0]: [0], TOPIC: [0]})),
    call("guest: offsets of the nameless group, added", ADD_OFFSETS, add_offsets("guest", "")),
    call("guest: described", DESCRIBE, describe("guest")),
    call("guest: add one twice", ADD, add("guest", {TOPIC: [0, 0]})),
    call("guest: add a second one", ADD, add("guest", {TOPIC: [1]})),
    call("guest: described then", DESCRIBE, describe("guest")),
    # What offsets are committed with it.
    call("guest: offsets without a group", COMMIT, commit_offset("guest", "", 1)),
    call("guest: add a group", ADD_OFFSETS, add_offsets("guest", "guests")),
    call("guest: offsets of an unknown topic", COMMIT, commit_offset("guest", "guests", 1, topics={"nowhere": [0]})),
    call("guest: known and unknown", COMMIT, commit_offset("guest", "guests", 2, topics={TOPIC: [0, 9], "x": [1]})),
    call("guest: no offsets", COMMIT, commit_offset("guest", "guests", 2, topics={})),
    call("guest: no partitions", COMMIT, commit_offset("guest", "guests", 2, topics={TOPIC: []})),
    call("guest: much metadata", COMMIT, commit_offset("guest", "guests", 3, metadata="x" * 4_097)),
    call("guest: no metadata", COMMIT, commit_offset("guest", "guests", 4, metadata=None)),
    *(
        call(f"guest: as {name}", COMMIT, commit_offset("guest", "guests", 5, member=member), (3, 4))
        for name, member in {
            "a stranger": {"member_id": "m", "generation_id": 1},
            "a member without generation": {"member_id": "m", "generation_id": -1},
            "a generation without member": {"member_id": "", "generation_id": 3},
            "an instance": {"member_id": "m", "generation_id": 1, "group_instance_id": "i"},
        }.items()
    ),
    call("guest: offsets so far", COMMITTED, fetch_offset("guests", stable=False, is_pending=True)),
    call("guest: offsets so far, stable", COMMITTED, fetch_offset("guests", stable=True, is_pending=True)),
)

BROKERS = (
    *(
        call(f"broker: {name}", ADD, add_as_a_broker(*wanted), (4, 5))
        for name, wanted in {
            "verifies": (Wanted("guest", {TOPIC: [0, 1]}),),
            "verifies what is not added": (Wanted("guest", {TOPIC: [0, 2]}),),
            "verifies what is unknown": (Wanted("guest", {TOPIC: [0], "nowhere": [0]}),),
            "verifies for nobody": (Wanted("nobody", {TOPIC: [0]}),),
            "verifies yesterday": (Wanted("guest", {TOPIC: [0]}, ahead=-1),),
            "verifies tomorrow": (Wanted("guest", {TOPIC: [0]}, ahead=1),),
            "verifies another": (Wanted("guest", {TOPIC: [0]}, owner=Owner(0, 0)),),
            "verifies after the end": (Wanted("life-0", {TOPIC: [0]}),),
            "verifies nothing": (Wanted("guest", {}),),
            "verifies many": (
                Wanted("guest", {TOPIC: [0]}),
                Wanted("nobody", {TOPIC: [0]}),
                Wanted("", {TOPIC: [0]}),
                Wanted("life-1", {TOPIC: [0, 1, 2]}),
            ),
            "adds": (Wanted("guest", {TOPIC: [2]}, verify_only=False),),
            "adds what is unknown": (Wanted("guest", {TOPIC: [0], "nowhere": [0]}, verify_only=False),),
            "adds and verifies": (
                Wanted("guest", {TOPIC: [2]}),
                Wanted("life-1", {TOPIC: [0]}, verify_only=False, ahead=1),
            ),
        }.items()
    ),
    call("guest: described after brokers", DESCRIBE, describe("guest")),
    call("guest: commit", END, end("guest", committed=True), (4,)),
    call("guest: offsets at last", COMMITTED, fetch_offset("guests", stable=True, is_pending=False)),
    # A coordinator of another cluster.
    call("marker: none", MARK, lambda *_: WriteTxnMarkersRequest(markers=[])),
    call("marker: of no partitions", MARK, write_marker({}, committed=True, txn="guest")),
    call("marker: of what is not here", MARK, write_marker({"nowhere": [0], TOPIC: [9]}, committed=True, txn="guest")),
    call("marker: of an unknown producer", MARK, write_marker({TOPIC: [0]}, committed=True, owner=Owner(9_000, 4))),
    call("marker: of its past", MARK, write_marker({TOPIC: [0]}, committed=True, owner=Owner(9_000, 3))),
    call("marker: of its future", MARK, write_marker({TOPIC: [0]}, committed=False, owner=Owner(9_000, 5))),
    call("marker: without an id", MARK, write_marker({TOPIC: [0]}, committed=False, owner=Owner(-1, 0))),
    call("marker: of nobody", MARK, write_marker({TOPIC: [0], "nowhere": [1]}, committed=True, owner=Owner(-1, -1))),
    call("marker: without an epoch", MARK, write_marker({TOPIC: [0]}, committed=False, owner=Owner(9_001, -1))),
    call(
        "marker: of a later coordinator",
        MARK,
        write_marker({TOPIC: [0]}, committed=True, owner=Owner(9_000, 5), coordinator=7),
    ),
    call(
        "marker: of an earlier coordinator",
        MARK,
        write_marker({TOPIC: [0, 1]}, committed=True, owner=Owner(9_000, 5), coordinator=6),
    ),
    call("marker: to offsets", MARK, write_marker({INTERNAL[0]: [0]}, committed=True, owner=Owner(9_002, 0))),
    call("fenced by a marker: init", INIT, init(FENCED), (5,), remember_owner(FENCED)),
    call("fenced by a marker: add", ADD, add(FENCED, {TOPIC: [0]}), (3,)),
    call("fenced by a marker: produce", PRODUCE, produce(FENCED, 0, 0), (9,)),
    call("fenced by a marker: marker", MARK, write_marker({TOPIC: [0]}, committed=True, txn=FENCED, ahead=1), (1,)),
    call("fenced by a marker: produce again", PRODUCE, produce(FENCED, 0, 1)),
    call("fenced by a marker: described", DESCRIBE, describe(FENCED)),
    call("fenced by a marker: commit", END, end(FENCED, committed=True), (4,)),
    call("fenced by a marker: described then", DESCRIBE, describe(FENCED)),
)

LOOKS = (
    call("open: init", INIT, init("open"), (5,), remember_owner("open")),
    call("open: add", ADD, add("open", {TOPIC: [0, 2]}), (3,)),
    call("described: many", DESCRIBE, describe("open", "life-5", "nobody", "", "open")),
    call("described: none", DESCRIBE, describe()),
    call("listed: all", LIST, list_transactions()),
    *(call(f"listed: {state}", LIST, list_transactions([state])) for state in STATES),
    call("listed: two states", LIST, list_transactions(["Ongoing", "Empty"])),
    call("listed: unknown states", LIST, list_transactions(["ongoing", "", "Nonsense", "Empty"])),
    call("listed: unknown states only", LIST, list_transactions(["Nonsense", "Nonsense"])),
    call("listed: by producer", LIST, list_transactions(of=["open", "life-2"])),
    call("listed: by an unknown producer", LIST, list_transactions(producer_ids=[-1, 2**62])),
    call("listed: by state and producer", LIST, list_transactions(["Ongoing"], of=["open", "life-2"])),
    *(
        call(f"listed: running for {duration_ms}", LIST, list_transactions(duration_ms=duration_ms), (1,))
        for duration_ms in (0, 3_600_000, -2)
    ),
    call("producers: of none", PRODUCERS, describe_producers({})),
    call("producers: of no partitions", PRODUCERS, describe_producers({TOPIC: []})),
    call("producers: of what is not here", PRODUCERS, describe_producers({"nowhere": [0], TOPIC: [9, -1]})),
    call("producers: of bad names", PRODUCERS, describe_producers({"a b": [0], "": [0]})),
    *(
        call(f"{name} at {level}", message, build(level))
        for level in (READ_UNCOMMITTED, READ_COMMITTED, 2)
        for name, message, build in (
            ("read", FETCH, lambda level: fetch(0, 0, level)),
            ("read of a later part", FETCH, lambda level: fetch(1, 4, level)),
            ("latest", OFFSETS, lambda level: list_offsets(LATEST, level)),
            ("by time", OFFSETS, lambda level: list_offsets(0, level)),
        )
    ),
    *(
        call(
            f"largest at {level}",
            OFFSETS,
            list_offsets(LARGEST, level),
            (7, 8, 9),
            by_kind=LARGEST_TIME,
        )
        for level in (READ_UNCOMMITTED, READ_COMMITTED)
    ),
    call("open: abort", END, end("open", committed=False), (4,)),
    call("listed: in the end", LIST, list_transactions()),
)


ZOMBIE = (
    *(call(f"zombie: init {time}", INIT, init("zombie"), (5,), remember_owner("zombie")) for time in ("one", "two")),
    call("zombie: add offsets", ADD_OFFSETS, add_offsets("zombie", "zombies"), (4,)),
    call("zombie: offsets", COMMIT, commit_offset("zombie", "zombies", 5), (4,)),
    call("zombie: offsets of the zombie", COMMIT, commit_offset("zombie", "zombies", 3, ahead=-1)),
    call("zombie: commit", END, end("zombie", committed=True), (4,)),
    call(
        "zombie: offsets at last",
        COMMITTED,
        fetch_offset("zombies", stable=True, is_pending=False),
        ignore=FORGOTTEN,
    ),
)


def describe_with_one_partition_left(world: World, version: int) -> DescribeTransactionsRequest:
    """Waits until the others have their markers."""
    request = DescribeTransactionsRequest(transactional_ids=[STUCK])

    def is_left() -> bool:
        with RawClient(world.bootstrap) as client:
            (found,) = client.send(DESCRIBE, request, version).transaction_states
        return [topic.partitions for topic in found.topics] == [[1]]

    wait_until(is_left, "one partition has no marker")
    return request


STUCK_FOREVER = (
    call(f"{STUCK}: init", INIT, init(STUCK), (5,), remember_owner(STUCK)),
    call(f"{STUCK}: add", ADD, add(STUCK, {TOPIC: [0, 1]}), (3,)),
    call(f"{STUCK}: add offsets", ADD_OFFSETS, add_offsets(STUCK, "stuck-group"), (4,)),
    call(f"{STUCK}: produce", PRODUCE, produce(STUCK, 1, 0), (9,)),
    # The leaders do not ask the coordinator for a partition that is in the transaction: its epoch is theirs then.
    call(f"{STUCK}: produce of yesterday", PRODUCE, produce(STUCK, 1, 1, ahead=-1), (9,)),
    call(f"{STUCK}: produce of tomorrow with a gap", PRODUCE, produce(STUCK, 1, 3, ahead=1), (9,)),
    call(f"{STUCK}: produce of tomorrow", PRODUCE, produce(STUCK, 1, 0, ahead=1), (9,)),
    call(f"{STUCK}: produce of today", PRODUCE, produce(STUCK, 1, 1)),
    call(f"{STUCK}: offsets of tomorrow", COMMIT, commit_offset(STUCK, "stuck-group", 7, ahead=1)),
    # Its markers are refused, and the coordinator gives up.
    call(f"{STUCK}: commit", END, end(STUCK, committed=True), (4,)),
    call(f"{STUCK}: described", DESCRIBE, describe_with_one_partition_left),
    call(f"{STUCK}: commit again", END, end(STUCK, committed=True)),
    call(f"{STUCK}: abort", END, end(STUCK, committed=False)),
    call(f"{STUCK}: add more", ADD, add(STUCK, {TOPIC: [2]})),
    call(f"{STUCK}: verify", ADD, add_as_a_broker(Wanted(STUCK, {TOPIC: [0]})), (4, 5)),
    call(f"{STUCK}: init again", INIT, init(STUCK)),
)

BEGINNING = (
    call("described without coordinator", DESCRIBE, lambda *_: DescribeTransactionsRequest(transactional_ids=["t"])),
    call("listed without coordinator", LIST, list_transactions()),
    call("init without coordinator", INIT, init("t")),
    call("add without coordinator", ADD, add("t", {"nowhere": [0]})),
    call("end without coordinator", END, end("t", committed=True)),
    call("first search", FIND, first_find, (1,)),
    call("a topic", CREATE_TOPICS_REQUEST, once_coordinated(create_topic), (5,)),
    call(
        "its id",
        METADATA_REQUEST,
        lambda *_: MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)]),
        (12,),
        remember_ids,
    ),
    call("coordinator", FIND, find("t")),
)
"""Before anybody asks for a coordinator, and until there are some."""

EXCHANGES = (
    *BEGINNING,
    *(exchange for number in range(ROUNDS) for exchange in life(number)),
    *(exchange for version in range(3, 6) for exchange in bumps(version)),
    *STRANGERS,
    *BROKERS,
    *LOOKS,
    *ZOMBIE,
    *STUCK_FOREVER,
)
