"""No greenlet that serves others dies of what nobody expected: the loop that keeps them, and every spawn there is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import gevent
import pytest

import kafka_zk
from kafka_zk.clock import SimClock
from kafka_zk.metrics.loop import MetricsLoop
from kafka_zk.supervision import spawn_for_life, unexpected_errors
from kafka_zk.zk.errors import ConnectionClosed
from kafka_zk.zk.sequence_listener import SequenceListener
from kafka_zk.zk.session_life import SessionLife
from tests.simulation.model_zookeeper import ModelZooKeeper

FOR_LIFE = "spawn_for_life"
STARTERS = {"spawn", "_spawn", "spawn_raw", "spawn_later", "Greenlet", FOR_LIFE}

SPAWNS = {
    # What serves others as long as its owner lives.
    "broker/unheard_deletions.py UnheardDeletions.start": FOR_LIFE,
    "controller/channel.py _Channel.__init__": FOR_LIFE,
    "controller/loop.py KafkaController.startup": FOR_LIFE,
    "coordinator/tasks.py Tasks.start": FOR_LIFE,
    "coordinator/group/gone_topics.py GoneTopics.startup": FOR_LIFE,
    "log/cleaner/cleaner_thread.py CleanerThread.start": FOR_LIFE,
    "metadata/controller_channel.py ControllerChannel.start": FOR_LIFE,
    "metadata/peer_channels.py _Peer.put": FOR_LIFE,
    "metrics/loop.py MetricsLoop.start": FOR_LIFE,
    "replication/following/fetcher.py Fetcher.start": FOR_LIFE,
    "security/tokens/store.py TokenStore.start": FOR_LIFE,
    "security/authentication/key_fetcher.py KeyFetcher.start": FOR_LIFE,
    "security/authentication/refreshing_login.py RefreshingLogin.start": FOR_LIFE,
    "zk/sequence_listener.py SequenceListener.start": FOR_LIFE,
    "zk/session_life.py SessionLife.keep": FOR_LIFE,
    "supervision.py spawn_for_life": "the loop itself",
    # What serves one request, one connection or one task, and what becomes of that when it fails.
    "api/late_answers.py when_settled.spawn": "one answer: any error fails its Pending, or ends its connection",
    "api/data/old_fetchers.py answer_old_fetcher": "one fetch: any error fails its Pending",
    "api/data/old_fetchers.py answer_old_fetcher.finish": "one fetch: any error fails its Pending",
    "broker/parts.py Parts._report_log_dir_failure": "one report, one stop: each logs what it meets",
    "broker/parts.py Parts.start": "imports, and warming up: the start waits for the first, the second is no promise",
    "clock.py _LoopTimer.__init__.fire": "one task; what is periodic (log/periodic.py, ReplicaManager._every, "
    "on_auto_rebalance, GroupManager._check) sets its next timer whatever happens",
    "coordinator/group/performer.py Performer._perform": "one record of one group: the log answers with a code",
    "coordinator/lag/other_coordinators.py committed_elsewhere": "one question: whoever scrapes gets None",
    "coordinator/transaction/producer_id_znode.py ZkProducerIds.send": "one block: any error fails its Pending",
    "log/local/flusher.py Flusher.in_background": "one flush: it is run again, and the next one syncs what it left",
    "log/cleaner/log_cleaner.py LogCleaner.stop": "a stop, which waits for it",
    "log/helper/process.py HelperProcess._leave_soon": "ends an idle process; the next call finds it or makes another",
    "log/helper/process.py _Running.end": "a thread that waits for a process to end",
    "log/manager.py LogManager._load_all": "a start, which waits for it and raises its error",
    "log/manager.py LogManager.shutdown": "a stop, which waits for it and raises its error",
    "log/pools.py LogPools.for_each": "the caller waits for it and raises its error",
    "log/pools.py LogPools.run_in_threads": "the caller waits for it and raises its error",
    "log/pools.py LogPools.run_to_end": "the caller waits for it and raises its error",
    "log/pools.py LogPools.sync_soon": "one round of syncs: who asked gets their OSErrors, the next round has its own",
    "metadata/first_update.py FirstUpdate.answer": "one request: any error fails its Pending",
    "network/channel.py BrokerChannel.__init__": "one connection: any error fails all that wait on it",
    "network/tls_stream.py TlsStream.step_in": "one step of a handshake: who waits gets its error",
    "network/listener.py Listener._serve": "one client's connection: any error closes it",
    "replication/log_dir_moves.py LogDirMoves.resume": "one move: any error is logged, the replica stays where it is",
    "replication/following/leader_endpoint.py LeaderEndpoint._open": "one connect: the fetcher waits for it "
    "and raises its error",
    "replication/manager.py ReplicaManager.handle_log_dir_failure": "one failed directory, marked offline before; "
    "whoever waited on it is let go by partition",
    "security/authentication/key_fetcher.py KeyFetcher.stop": "the end of a pool, which nobody waits for",
    "security/authentication/refreshing_login.py RefreshingLogin.stop": "the end of a pool, which nobody waits for",
    "tools/server_start/__main__.py _serve": "a warning",
    "tools/server_start/__main__.py _serve.stop": "the stop itself",
    "zk/session_life.py SessionLife._follow_up": "sets an event",
}
"""Where greenlets (and threads of gevent's pools) are started, and why none that serves others can end unnoticed."""


@cache
def spawns() -> list[tuple[str, str]]:
    """(file and function, what starts the greenlet) of all in kafka_zk."""
    root = Path(kafka_zk.__file__).parent
    texts = {file: file.read_text() for file in sorted(root.rglob("*.py"))}
    return [
        spawn
        for file, text in texts.items()
        if "spawn" in text or "Greenlet(" in text
        for spawn in _spawns_in(ast.parse(text), str(file.relative_to(root)), [])
    ]


def _spawns_in(node: ast.AST, file: str, scope: list[str]) -> Iterator[tuple[str, str]]:
    for child in ast.iter_child_nodes(node):
        inner = [*scope, child.name] if isinstance(child, ast.FunctionDef | ast.ClassDef) else scope
        if isinstance(child, ast.Call):
            called = child.func.attr if isinstance(child.func, ast.Attribute) else getattr(child.func, "id", None)
            if called in STARTERS:
                yield f"{file} {'.'.join(scope)}", str(called)
        yield from _spawns_in(child, file, inner)


def test_every_spawn_of_the_broker_is_in_the_table() -> None:
    found = dict(spawns())
    assert found.keys() - SPAWNS.keys() == set(), "say in the table what becomes of what these greenlets work on"
    assert SPAWNS.keys() - found.keys() == set(), "these are gone"


def test_what_serves_others_is_started_for_life() -> None:
    started = {place for place, starter in spawns() if starter == FOR_LIFE}
    assert started == {place for place, why in SPAWNS.items() if why == FOR_LIFE}


# --- the loop --------------------------------------------------------------------------------------------------------


def test_a_loop_goes_on_after_an_error_which_is_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    before = unexpected_errors["loop"]
    calls: list[int] = []
    failed: list[str] = []

    def loop() -> None:
        calls.append(1)
        if len(calls) < 3:
            raise ValueError(f"number {len(calls)}")

    spawn_for_life("loop", loop, on_error=lambda error: failed.append(str(error)), pause_s=0).join()
    assert (len(calls), failed) == (3, ["number 1", "number 2"])
    assert unexpected_errors["loop"] - before == 2
    assert [record.exc_info is not None for record in caplog.records] == [True, True]


def test_an_error_in_the_handling_of_an_error_does_not_end_it_either() -> None:
    calls: list[int] = []

    def loop() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError

    def worse(_: Exception) -> None:
        raise TypeError

    spawn_for_life("loop", loop, on_error=worse, pause_s=0).join()
    assert len(calls) == 2


def test_a_loop_that_is_killed_ends() -> None:
    greenlet = spawn_for_life("loop", lambda: gevent.sleep(60))
    gevent.sleep(0)
    greenlet.kill()
    assert greenlet.dead


# --- those who use it ------------------------------------------------------------------------------------------------


def settled(is_so: object) -> None:
    """Let greenlets run until `is_so()`; a pause of the supervision may lie in between."""
    with gevent.Timeout(60):
        while not is_so():  # type: ignore[operator]
            gevent.sleep(0.001)


@pytest.fixture(autouse=True)
def without_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = gevent.sleep
    monkeypatch.setattr("kafka_zk.supervision.gevent.sleep", lambda seconds=0: rest(min(seconds, 0.001)))


def test_notices_are_handled_after_a_listing_that_failed() -> None:
    server = ModelZooKeeper().with_kafka_paths()
    zk = server.client()
    seen: list[bytes | None] = []
    listener = SequenceListener(zk, "/config/changes", "config_change_", seen.append, SimClock())  # type: ignore[arg-type]
    listener.start()
    children, failures = zk.children, [ValueError("a bug")]

    def failing(path: str) -> list[str]:
        if failures:
            raise failures.pop()
        found: list[str] = children(path)
        return found

    zk.children = failing  # type: ignore[method-assign]
    server.client().create("/config/changes/config_change_", b"1", sequential=True)
    settled(lambda: seen)
    listener.stop()
    assert (seen, failures) == ([b"1"], [])


class Kazoo:
    client_state = "CONNECTED"
    client_id = (7, b"")

    def __init__(self) -> None:
        self.listeners: list[object] = []

    def add_listener(self, listener: object) -> None:
        self.listeners.append(listener)


def test_the_session_is_kept_after_a_connection_that_could_not_be_used() -> None:
    used: list[int] = []

    def on_connection() -> None:
        used.append(1)
        if len(used) == 1:
            raise ValueError("a bug")

    life = SessionLife(Kazoo(), on_connection)
    life.keep()
    life._on_state("CONNECTED")
    settled(lambda: len(used) == 2)
    life.end()


def test_a_closed_client_ends_its_listener() -> None:
    zk = ModelZooKeeper().with_kafka_paths().client()
    listener = SequenceListener(zk, "/config/changes", "config_change_", print, SimClock())  # type: ignore[arg-type]
    listener.start()

    def closed(path: str) -> list[str]:
        raise ConnectionClosed

    zk.children = closed  # type: ignore[method-assign]
    listener._dirty.set()
    settled(lambda: listener._greenlet is not None and listener._greenlet.dead)


def test_metrics_are_folded_after_a_gauge_that_failed() -> None:
    class Registry:
        folds = 0

        def gather_some(self) -> bool:
            return False

        def fold_some(self) -> bool:
            self.folds += 1
            if self.folds == 1:
                raise ValueError("a bug")
            return False

    registry = Registry()
    loop = MetricsLoop(registry, interval_ms=1)  # type: ignore[arg-type]
    loop.start()
    settled(lambda: registry.folds >= 3)
    loop.stop()
