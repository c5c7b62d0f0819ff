"""The commands of zookeeper-shell.sh, each declared once: its usage, its options, its action.

Source: org.apache.zookeeper.ZooKeeperMain.commandMapCli and org.apache.zookeeper.cli.* of ZooKeeper 3.8.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kazoo import exceptions as kazoo_errors

from kafka_zk.tools.zookeeper_shell import actions
from kafka_zk.tools.zookeeper_shell.actions import Arguments
from kafka_zk.tools.zookeeper_shell.session import CommandError, Shell

Action = Callable[[Shell, Arguments], None]

_ERROR_TEXTS = {
    "NoNode": "Node does not exist:",
    "NodeExists": "Node already exists:",
    "NotEmpty": "Node not empty:",
    "BadVersion": "version No is not valid :",
    "NoAuth": "Insufficient permission :",
    "NoChildrenForEphemerals": "Ephemerals cannot have children:",
    "InvalidACL": "Acl is not valid :",
}
"""The text before the path, by ZooKeeper's name of the error. Source: cli.CliWrapperException."""


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
        except kazoo_errors.KazooException as error:
            name = type(error).__name__.removesuffix("Error")
            text = _ERROR_TEXTS.get(name, f"KeeperErrorCode = {name} for")
            raise CommandError(f"{text} {path}") from None

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


def _old_watch(name: str, instead: str) -> Callable[[list[str]], list[str]]:
    """Translate the old `ls path watch` into `ls -w path`."""

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
            actions.refuse,
            1,
            valued="m",
        ),
        Command("addauth", "scheme auth", actions.add_auth, 1),
        Command("close", "", actions.close),
        Command("config", "[-c] [-w] [-s]", actions.ensemble_config, flags="c w s"),
        Command("connect", "host:port", actions.connect),
        Command("create", "[-s] [-e] [-c] [-t ttl] path [data] [acl]", actions.create, 1, "s e c", "t"),
        Command("delete", "[-v version] path", actions.delete, 1, valued="v"),
        Command("deleteall", "path [-b batch size]", actions.delete_all, 1, valued="b"),
        Command("delquota", "[-n|-b|-N|-B] path", actions.refuse, 1, "n b N B"),
        Command("get", "[-s] [-w] path", actions.get, 1, "s w", deprecated=_old_watch("get", "get [-s] [-w] path")),
        Command("getAcl", "[-s] path", actions.get_acl, 1, "s"),
        Command("getAllChildrenNumber", "path", actions.all_children_number, 1),
        Command("getEphemerals", "path", actions.ephemerals),
        Command("history", "", actions.history),
        Command("listquota", "path", actions.refuse, 1),
        Command(
            "ls", "[-s] [-w] [-R] path", actions.list_children, 1, "s w R", deprecated=_old_watch("ls", "ls [-w] path")
        ),
        Command("printwatches", "on|off", actions.print_watches),
        Command("quit", "", actions.quit_shell),
        Command(
            "reconfig",
            "[-s] [-v version] [[-file path] | [-members serverID=host:port1:port2;port3[,...]*]] | "
            "[-add serverId=host:port1:port2;port3[,...]]* [-remove serverId[,...]*]",
            actions.refuse,
            flags="s",
            valued="v file members add remove",
        ),
        Command("redo", "cmdno", actions.redo, 1),
        Command("removewatches", "path [-c|-d|-a] [-l]", actions.refuse, 1, "c d a l"),
        Command("set", "[-s] [-v version] path data", actions.set_data, 2, "s", "v"),
        Command("setAcl", "[-s] [-v version] [-R] path acl", actions.set_acl, 2, "s R", "v"),
        Command("setquota", "-n|-b|-N|-B val path", actions.refuse, 1, valued="n b N B"),
        Command("stat", "[-w] path", actions.stat, 1, "w", deprecated=_old_watch("stat", "stat [-w] path")),
        Command("sync", "path", actions.sync, 1),
        Command("version", "", actions.print_version),
        Command("whoami", "", actions.refuse),
    )
}


def usage() -> str:
    lines = "\n".join(f"\t{command.usage}" for command in COMMANDS.values())
    return f"ZooKeeper -server host:port [-zk-tls-config-file <file>] cmd args\n{lines}"
