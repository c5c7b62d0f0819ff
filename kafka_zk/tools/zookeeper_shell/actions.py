"""What each command of zookeeper-shell.sh does, with the texts that Apache's shell prints.

An action takes the shell and its parsed arguments; what ZooKeeper refuses is put into words by `Command.run`.
Source: org.apache.zookeeper.cli.* of ZooKeeper 3.8; AclParser, PathUtils.validatePath.
"""

from __future__ import annotations

import contextlib
import sys
import time
from dataclasses import dataclass

from kazoo import exceptions as kazoo_errors
from kazoo.client import KazooClient
from kazoo.protocol.states import ZnodeStat
from kazoo.security import ACL, Id

from kafka_zk import __version__
from kafka_zk.tools.zookeeper_shell.session import CommandError, Shell

PERMISSIONS = {"r": 1, "w": 2, "c": 4, "d": 8, "a": 16}
PERMISSIONS_SHOWN = "cdrwa"


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
    """`scheme:id:permissions,...`; an entry of another form is reported and ignored. Source: AclParser."""
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
