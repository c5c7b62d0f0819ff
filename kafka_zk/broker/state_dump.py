"""SIGUSR1: logs what a running broker is doing.

Role        Reads only, and does not switch. Works while requests hang: it needs no other greenlet.
Invariants  A long list is cut at MAX_LINES, with the number of omitted entries.
            Greenlets at the same place are printed once, with their number: a thousand idle connections are
            one entry.
Source      Ours; for the JVM it is jstack.
"""

from __future__ import annotations

import gc
import sys
import traceback
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

import gevent
from gevent.threadpool import _WorkerGreenlet  # type: ignore[attr-defined]  # private
from greenlet import greenlet

from kafka_zk.api.services import Services
from kafka_zk.network.server import SocketServer

MAX_LINES = 200
MAX_FRAMES = 12


def describe_state(services: Services, socket_server: SocketServer, *, broker_epoch: int) -> str:
    """Sections with a heading each: the broker, ZooKeeper, the controller, requests, partitions, groups, greenlets."""
    controller, replicas = services.controller, services.replica_manager
    zk, connections = services.zk, list(socket_server.connections())
    _, groups = services.group_coordinator.list_groups()
    purgatories = (
        replicas.delayed_produces,
        replicas.delayed_fetches,
        replicas.delayed_delete_records,
        replicas.delayed_commits,
    )
    busy = [connection for connection in connections if connection.unanswered_count or connection.unsent_bytes]
    lines = [
        f"broker {services.broker_id} epoch={broker_epoch} cluster={services.cluster_id}",
        f"zookeeper {zk.connect} state={zk.state} session=0x{zk.session_id:x} generation={zk.generation}",
        f"controller active={controller.is_active} epoch={controller.controller_epoch} queued={controller.queue_size}",
        f"metadata {services.metadata_cache!r}",
        *_section("purgatories", map(repr, purgatories)),
        *_section(f"connections: {len(connections)} open, these have unanswered requests", map(repr, busy)),
        *_section("partitions", sorted(repr(partition) for partition in replicas.hosted)),
        *_section("groups", sorted(f"{group.group_id} {group.state}" for group in groups)),
        *_section("greenlets", describe_greenlets()),
    ]
    return "\n".join(lines)


def _section(heading: str, lines: Iterable[str]) -> list[str]:
    found = list(lines)
    shown = [f"  {line}" for line in found[:MAX_LINES]]
    if len(found) > MAX_LINES:
        shown.append(f"  ... and {len(found) - MAX_LINES} more")
    return [f"{heading} ({len(found)})", *shown]


def describe_greenlets() -> list[str]:
    """Stacks of this thread's greenlets, the most frequent one first; innermost frame last."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    current = gevent.getcurrent()
    for each in _greenlets():
        if each is not current:
            places[_place(each)].append(_name(each))
    crowded_first = sorted(places.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        f"{len(names)} x {names[0]}\n{stack}" if len(names) > 1 else f"{names[0]}\n{stack}"
        for stack, names in crowded_first
    ]


def _greenlets() -> list[greenlet]:
    # Objects from before the end of the start are frozen, so the collector does not list them.
    gc.unfreeze()
    try:
        found = [each for each in gc.get_objects() if isinstance(each, greenlet) and not each.dead]
    finally:
        gc.freeze()
    # A thread of a pool has two, neither of which runs here.
    workers = [each for each in found if isinstance(each, _WorkerGreenlet)]
    elsewhere = {id(each) for worker in workers for each in (worker, worker.parent)}
    return [each for each in found if id(each) not in elsewhere]


def _name(each: greenlet) -> str:
    return each.name if isinstance(each, gevent.Greenlet) else type(each).__name__


def _place(each: greenlet) -> str:
    """Its stack. Compiled code leaves no frames in it: for a greenlet without any, the function it was started with."""
    if each.gr_frame is not None:
        return _stack(each.gr_frame)
    return f"      in compiled code, or not begun: {getattr(_function(each), '__qualname__', 'unknown')}"


def _function(each: greenlet) -> object:
    return getattr(each, "_run", None) if isinstance(each, gevent.Greenlet) else None


def _stack(frame: FrameType) -> str:
    # Not extract_stack: that reads the source files.
    frames = [(f.f_code.co_filename, line, f.f_code.co_name) for f, line in traceback.walk_stack(frame)][:MAX_FRAMES]
    roots = [str(Path(__file__).parents[2]), *sorted(sys.path, key=len, reverse=True)]
    return "\n".join(f"      {_shortened(path, roots)}:{line} {name}" for path, line, name in reversed(frames))


def _shortened(path: str, roots: list[str]) -> str:
    for root in roots:
        if root and path.startswith(root + "/"):
            return path[len(root) + 1 :]
    return path
