"""The commands of zookeeper-shell.sh, each declared once: its usage, its options, what it does.

A command connects when it first needs ZooKeeper; until then its mistakes cost nothing. Events (watches, connection) are
printed between commands, as they come.
Source: org.apache.zookeeper.cli.*, org.apache.zookeeper.ZooKeeperMain of ZooKeeper 3.8.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from kazoo import exceptions as kazoo_errors
from kazoo.client import KazooClient
from kazoo.hosts import collect_hosts
from kazoo.protocol.states import EventType, KazooState, WatchedEvent, ZnodeStat
from kazoo.security import ACL, Id

from kafka_zk import __version__

SESSION_TIMEOUT_S = 30.0
PERMISSIONS = {"r": 1, "w": 2, "c": 4, "d": 8, "a": 16}
PERMISSIONS_SHOWN = "cdrwa"
EVENT_NAMES = {
    EventType.CREATED: "NodeCreated",
    EventType.DELETED: "NodeDeleted",
    EventType.CHANGED: "NodeDataChanged",
    EventType.CHILD: "NodeChildrenChanged",
}
STATE_NAMES = {
    KazooState.CONNECTED: "SyncConnected",
    KazooState.SUSPENDED: "Disconnected",
    KazooState.LOST: "Expired",
}


class CommandError(Exception):
    """A command failed: what to print on the standard error, and the exit code."""

    def __init__(self, text: str, exit_code: int = 1) -> None:
        super().__init__(text)
        self.text = text
        self.exit_code = exit_code


@dataclass(frozen=True)
class Arguments:
    """A command's options (without the dash; a flag's value is "") and its other words."""

    options: dict[str, str]
    words: list[str]

    def has(self, option: str) -> bool:
        return option in self.options

    @property
    def version(self) -> int:
        text = self.options.get("v", "-1")
        try:
            return int(text)
        except ValueError:
            raise CommandError(f'java.lang.NumberFormatException: For input string: "{text}"') from None


class Shell:
    """One shell: its connection (made when first needed) and what it has been asked before."""

    def __init__(self, connect: str) -> None:
        self.connect = connect
        self.history: list[str] = []
        self.redo: str | None = None
        self.quitting = False
        self.printing_watches = True
        self._kazoo: KazooClient | None = None
        self._connected_once = False
        self._events: SimpleQueue[str] = SimpleQueue()

    @property
    def state(self) -> str:
        return self._kazoo.client_state if self._kazoo else "CLOSED" if self._connected_once else "CONNECTING"

    def zookeeper(self, path: str | None = None) -> KazooClient:
        """The connection; `path` is what the command is about, for the message when there is none."""
        if self._kazoo is None:
            if self._connected_once:
                # On the standard output and without an exit code, as Apache's shell says it.
                print("Not connected")
                raise CommandError("", 0)
            self.open(path)
        return self._kazoo

    def open(self, path: str | None = None) -> None:
        """Connect. Raises CommandError."""
        self._require_reachable(path)
        kazoo = KazooClient(self.connect, timeout=SESSION_TIMEOUT_S)
        try:
            kazoo.start(timeout=SESSION_TIMEOUT_S)
        except kazoo.handler.timeout_exception:
            raise _connection_loss(path) from None
        kazoo.add_listener(self._on_state)
        self._kazoo = kazoo
        self._connected_once = True
        self._print_event("state:SyncConnected type:None path:null")

    def _require_reachable(self, path: str | None) -> None:
        # kazoo tries for as long as it is let; Apache's shell gives up at the first refusal.
        for host, port in collect_hosts(self.connect)[0]:
            with contextlib.suppress(OSError):
                socket.create_connection((host.strip("[]"), port), timeout=SESSION_TIMEOUT_S).close()
                return
        raise _connection_loss(path)

    def close(self) -> None:
        """End the session."""
        if self.abandon():
            self._print_event("state:Closed type:None path:null")

    def abandon(self) -> bool:
        """End the session without a word; whether there was one."""
        kazoo, self._kazoo = self._kazoo, None
        if kazoo is None:
            return False
        kazoo.remove_listener(self._on_state)
        kazoo.stop()
        kazoo.close()
        return True

    def watcher(self, wanted: bool) -> Callable[[WatchedEvent], None] | None:
        return self._on_watch if wanted else None

    def _on_watch(self, event: WatchedEvent) -> None:
        if event.type in EVENT_NAMES:
            self._events.put(f"state:SyncConnected type:{EVENT_NAMES[event.type]} path:{event.path}")

    def _on_state(self, state: str) -> None:
        self._events.put(f"state:{STATE_NAMES[state]} type:None path:null")

    def print_events(self) -> None:
        """Print the events of watches and of the connection that have come so far."""
        if self._kazoo is not None:
            # Callbacks run one after the other: when ours has run, those before it have.
            passed = self._kazoo.handler.event_object()
            self._kazoo.handler.completion_queue.put(passed.set)
            passed.wait(1)
            passed.clear()
            self._kazoo.handler.callback_queue.put(passed.set)
            passed.wait(1)
        with contextlib.suppress(Empty):
            while True:
                self._print_event(self._events.get_nowait())

    def _print_event(self, text: str) -> None:
        if self.printing_watches:
            print(f"\nWATCHER::\n\nWatchedEvent {text}", flush=True)


def _connection_loss(path: str | None) -> CommandError:
    return CommandError(f"KeeperErrorCode = ConnectionLoss for {path}" if path else "KeeperErrorCode = ConnectionLoss")


Action = Callable[[Shell, Arguments], None]


@dataclass(frozen=True)
class Command:
    """One command. `min_words` counts what must follow its options; `valued` are the options that take a value."""

    name: str
    option_text: str
    action: Action
    min_words: int = 0
    flags: str = ""
    valued: str = ""
    deprecated: Callable[[list[str]], list[str]] = field(default=list)

    @property
    def usage(self) -> str:
        return f"{self.name} {self.option_text}"

    def run(self, shell: Shell, given: Sequence[str]) -> None:
        """Raises CommandError."""
        arguments = self._parse(self.deprecated(list(given)))
        path = arguments.words[0] if arguments.words else None
        try:
            self.action(shell, arguments)
        except kazoo_errors.NoNodeError:
            raise CommandError(f"Node does not exist: {path}") from None
        except kazoo_errors.NodeExistsError:
            raise CommandError(f"Node already exists: {path}") from None
        except kazoo_errors.NotEmptyError:
            raise CommandError(f"Node not empty: {path}") from None
        except kazoo_errors.BadVersionError:
            raise CommandError(f"version No is not valid : {path}") from None
        except kazoo_errors.NoAuthError:
            raise CommandError(f"Insufficient permission : {path}") from None
        except kazoo_errors.NoChildrenForEphemeralsError:
            raise CommandError(f"Ephemerals cannot have children: {path}") from None
        except kazoo_errors.InvalidACLError:
            raise CommandError(f"Acl is not valid : {path}") from None
        except kazoo_errors.KazooException as error:
            name = type(error).__name__.removesuffix("Error")
            raise CommandError(f"KeeperErrorCode = {name} for {path}") from None

    def _parse(self, given: list[str]) -> Arguments:
        options: dict[str, str] = {}
        words: list[str] = []
        rest = iter(given)
        for word in rest:
            name = word[1:]
            if not word.startswith("-") or not name or name.lstrip("-").isdigit():
                words.append(word)
            elif name in self.flags.split():
                options[name] = ""
            elif name in self.valued.split():
                value = next(rest, None)
                if value is None:
                    raise CommandError(
                        f"org.apache.commons.cli.MissingArgumentException: Missing argument for option: {name}"
                    )
                options[name] = value
            else:
                raise CommandError(f"org.apache.commons.cli.UnrecognizedOptionException: Unrecognized option: {word}")
        if len(words) < self.min_words:
            raise CommandError(self.usage)
        return Arguments(options, words)


def valid_path(path: str) -> str:
    """The path itself. Raises CommandError with ZooKeeper's words. Source: PathUtils.validatePath."""
    if not path:
        raise CommandError("Path length must be > 0")
    if path[0] != "/":
        raise CommandError("Path must start with / character")
    if len(path) > 1 and path[-1] == "/":
        raise CommandError("Path must not end with / character")
    position = 1
    for name in path[1:].split("/") if len(path) > 1 else ():
        if not name:
            raise CommandError(f'Invalid path string "{path}" caused by empty node name specified @{position}')
        if name in (".", ".."):
            at = position + len(name) - 1
            raise CommandError(f'Invalid path string "{path}" caused by relative paths not allowed @{at}')
        position += len(name) + 1
    return path


def print_stat(stat: ZnodeStat) -> None:
    def date(ms: int) -> str:
        return time.strftime("%a %b %d %H:%M:%S %Z %Y", time.localtime(ms / 1000))

    for name, value in (
        ("cZxid", hex(stat.czxid)),
        ("ctime", date(stat.ctime)),
        ("mZxid", hex(stat.mzxid)),
        ("mtime", date(stat.mtime)),
        ("pZxid", hex(stat.pzxid)),
        ("cversion", stat.cversion),
        ("dataVersion", stat.version),
        ("aclVersion", stat.aversion),
        ("ephemeralOwner", hex(stat.ephemeralOwner)),
        ("dataLength", stat.dataLength),
        ("numChildren", stat.numChildren),
    ):
        print(f"{name} = {value}")


def subtree(kazoo: KazooClient, path: str) -> list[str]:
    """`path` and everything below it, each before its children, names in order."""
    names = sorted(kazoo.get_children(path))
    found = [path]
    for name in names:
        with contextlib.suppress(kazoo_errors.NoNodeError):
            found += subtree(kazoo, f"{path.rstrip('/')}/{name}")
    return found


def parse_acl(text: str) -> list[ACL]:
    """`scheme:id:permissions,...`; an entry of another form is told and left out. Source: AclParser."""
    parsed = []
    for entry in text.split(","):
        scheme, _, rest = entry.partition(":")
        identity, colon, letters = rest.rpartition(":")
        if not colon:
            print(f"{entry} does not have the form scheme:id:perm", file=sys.stderr)
            continue
        permissions = 0
        for letter in letters:
            if letter not in PERMISSIONS:
                print(f"Unknown perm type: {letter}", file=sys.stderr)
            permissions |= PERMISSIONS.get(letter, 0)
        parsed.append(ACL(permissions, Id(scheme, identity)))
    return parsed


def list_children(shell: Shell, given: Arguments) -> None:
    path = valid_path(given.words[0])
    kazoo = shell.zookeeper(path)
    if given.has("R"):
        print("\n".join(subtree(kazoo, path)))
        return
    children, stat = kazoo.get_children(path, watch=shell.watcher(given.has("w")), include_data=True)
    print(f"[{', '.join(sorted(children))}]")
    if given.has("s"):
        print_stat(stat)


def get(shell: Shell, given: Arguments) -> None:
    path = valid_path(given.words[0])
    data, stat = shell.zookeeper(path).get(path, watch=shell.watcher(given.has("w")))
    print("null" if data is None else data.decode(errors="replace"))
    if given.has("s"):
        print_stat(stat)


def stat(shell: Shell, given: Arguments) -> None:
    path = valid_path(given.words[0])
    found = shell.zookeeper(path).exists(path, watch=shell.watcher(given.has("w")))
    if found is None:
        raise kazoo_errors.NoNodeError
    print_stat(found)


def create(shell: Shell, given: Arguments) -> None:
    unsupported = [f"-{option}" for option in ("c", "t") if given.has(option)]
    if unsupported:
        raise CommandError(f"create {unsupported[0]}: this shell creates no container or TTL nodes")
    path, data, acl = (*given.words, None, None)[:3]
    valid_path(f"{path}1" if given.has("s") else str(path))
    entries = None if acl is None else parse_acl(acl)
    if entries == []:
        print("KeeperErrorCode = InvalidACL", file=sys.stderr)
        raise CommandError("Acl is not valid : null")
    created = shell.zookeeper(path).create(
        path,
        None if data is None else data.encode(),
        entries,
        ephemeral=given.has("e"),
        sequence=given.has("s"),
    )
    print(f"Created {created}", file=sys.stderr)


def set_data(shell: Shell, given: Arguments) -> None:
    path, data = given.words[:2]
    version = given.version
    changed = shell.zookeeper(valid_path(path)).set(path, data.encode(), version)
    if given.has("s"):
        print_stat(changed)


def delete(shell: Shell, given: Arguments) -> None:
    path = valid_path(given.words[0])
    version = given.version
    shell.zookeeper(path).delete(path, version)


def delete_all(shell: Shell, given: Arguments) -> None:
    path = valid_path(given.words[0])
    kazoo = shell.zookeeper(path)
    for below in reversed(subtree(kazoo, path)):
        with contextlib.suppress(kazoo_errors.NoNodeError):
            kazoo.delete(below)


def get_acl(shell: Shell, given: Arguments) -> None:
    path = valid_path(given.words[0])
    entries, found = shell.zookeeper(path).get_acls(path)
    for entry in entries:
        letters = "".join(letter for letter in PERMISSIONS_SHOWN if entry.perms & PERMISSIONS[letter])
        print(f"'{entry.id.scheme},'{entry.id.id}\n: {letters}")
    if given.has("s"):
        print_stat(found)


def set_acl(shell: Shell, given: Arguments) -> None:
    path = valid_path(given.words[0])
    entries = parse_acl(given.words[1])
    if not entries:
        raise CommandError("Acl is not valid : null")
    kazoo = shell.zookeeper(path)
    version = given.version
    for each in subtree(kazoo, path) if given.has("R") else [path]:
        changed = kazoo.set_acls(each, entries, version)
        if given.has("s"):
            print_stat(changed)


def sync(shell: Shell, given: Arguments) -> None:
    path = valid_path(given.words[0])
    shell.zookeeper(path).sync(path)
    print("Sync is OK")


def all_children_number(shell: Shell, given: Arguments) -> None:
    path = valid_path(given.words[0])
    print(len(subtree(shell.zookeeper(path), path)) - 1)


def ephemerals(shell: Shell, given: Arguments) -> None:
    path = valid_path(given.words[0]) if given.words else "/"
    kazoo = shell.zookeeper(path)
    mine = kazoo.client_id[0]
    stats = [(below, kazoo.exists(below)) for below in subtree(kazoo, path)]
    print(f"[{', '.join(below for below, found in stats if found and found.ephemeralOwner == mine)}]")


def ensemble_config(shell: Shell, given: Arguments) -> None:
    path = "/zookeeper/config"
    data, found = shell.zookeeper(path).get(path, watch=shell.watcher(given.has("w")))
    print((data or b"").decode(errors="replace"))
    if given.has("s"):
        print_stat(found)


def print_version(shell: Shell, given: Arguments) -> None:
    print(f"ZooKeeper CLI version: 3.8.4-kafka_zk-{__version__}")


def history(shell: Shell, given: Arguments) -> None:
    newest = max(0, len(shell.history) - 1)
    for index in range(max(0, newest - 10), newest + 1):
        print(f"{index} - {shell.history[index] if shell.history else 'null'}")


def redo(shell: Shell, given: Arguments) -> None:
    index = int(given.words[0]) if given.words[0].isdigit() else -1
    if not 0 <= index < len(shell.history) - 1:
        raise CommandError("Command index out of range")
    shell.redo = shell.history[index]


def print_watches(shell: Shell, given: Arguments) -> None:
    if given.words:
        shell.printing_watches = given.words[0] == "on"
    else:
        print(f"printwatches is {'on' if shell.printing_watches else 'off'}")


def add_auth(shell: Shell, given: Arguments) -> None:
    credential = given.words[1] if len(given.words) > 1 else ""
    shell.zookeeper().add_auth(given.words[0], credential)


def connect(shell: Shell, given: Arguments) -> None:
    shell.close()
    if given.words:
        shell.connect = given.words[0]
    shell.open()


def close(shell: Shell, given: Arguments) -> None:
    shell.zookeeper()
    shell.close()


def quit_shell(shell: Shell, given: Arguments) -> None:
    shell.close()
    shell.quitting = True


def refuse(shell: Shell, given: Arguments) -> None:
    """For the commands of quotas, persistent watches and dynamic ensembles, which no Kafka cluster needs."""
    raise CommandError("This command is in Apache ZooKeeper's own shell only")


def _old_watch(name: str, instead: str) -> Callable[[list[str]], list[str]]:
    """`ls path watch` of old is `ls -w path` today."""

    def translate(words: list[str]) -> list[str]:
        if len(words) > 1 and not any(word.startswith("-") for word in words):
            print(f"'{name} path [watch]' has been deprecated. Please use '{instead}' instead.", file=sys.stderr)
            return ["-w", words[0]]
        return words

    return translate


COMMANDS = {
    command.name: command
    for command in (
        Command(
            "addWatch",
            "[-m mode] path # optional mode is one of [PERSISTENT, PERSISTENT_RECURSIVE] - default is "
            "PERSISTENT_RECURSIVE",
            refuse,
            1,
            valued="m",
        ),
        Command("addauth", "scheme auth", add_auth, 1),
        Command("close", "", close),
        Command("config", "[-c] [-w] [-s]", ensemble_config, flags="c w s"),
        Command("connect", "host:port", connect),
        Command("create", "[-s] [-e] [-c] [-t ttl] path [data] [acl]", create, 1, "s e c", "t"),
        Command("delete", "[-v version] path", delete, 1, valued="v"),
        Command("deleteall", "path [-b batch size]", delete_all, 1, valued="b"),
        Command("delquota", "[-n|-b|-N|-B] path", refuse, 1, "n b N B"),
        Command("get", "[-s] [-w] path", get, 1, "s w", deprecated=_old_watch("get", "get [-s] [-w] path")),
        Command("getAcl", "[-s] path", get_acl, 1, "s"),
        Command("getAllChildrenNumber", "path", all_children_number, 1),
        Command("getEphemerals", "path", ephemerals),
        Command("history", "", history),
        Command("listquota", "path", refuse, 1),
        Command("ls", "[-s] [-w] [-R] path", list_children, 1, "s w R", deprecated=_old_watch("ls", "ls [-w] path")),
        Command("printwatches", "on|off", print_watches),
        Command("quit", "", quit_shell),
        Command(
            "reconfig",
            "[-s] [-v version] [[-file path] | [-members serverID=host:port1:port2;port3[,...]*]] | "
            "[-add serverId=host:port1:port2;port3[,...]]* [-remove serverId[,...]*]",
            refuse,
            flags="s",
            valued="v file members add remove",
        ),
        Command("redo", "cmdno", redo, 1),
        Command("removewatches", "path [-c|-d|-a] [-l]", refuse, 1, "c d a l"),
        Command("set", "[-s] [-v version] path data", set_data, 2, "s", "v"),
        Command("setAcl", "[-s] [-v version] [-R] path acl", set_acl, 2, "s R", "v"),
        Command("setquota", "-n|-b|-N|-B val path", refuse, 1, valued="n b N B"),
        Command("stat", "[-w] path", stat, 1, "w", deprecated=_old_watch("stat", "stat [-w] path")),
        Command("sync", "path", sync, 1),
        Command("version", "", print_version),
        Command("whoami", "", refuse),
    )
}


def usage() -> str:
    lines = "\n".join(f"\t{command.usage}" for command in COMMANDS.values())
    return f"ZooKeeper -server host:port [-zk-tls-config-file <file>] cmd args\n{lines}"
