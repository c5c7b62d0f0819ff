"""zookeeper-shell.sh host:port[/path] [-zk-tls-config-file FILE] [command args]: reads and changes znodes.

One command from the arguments, or one a line from the standard input. Commands, texts and exit codes are those of
ZooKeeper's own shell; a terminal also gets a prompt. The commands are in shell/commands.py.
Source: org.apache.zookeeper.ZooKeeperMain, kafka's ZooKeeperMainWithTlsSupportForKafka.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence

from kafka_zk.config.errors import ConfigException
from kafka_zk.tools.common.connect_string import check_connect_string
from kafka_zk.tools.common.endings import run_as_program, tell_as_thrown
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.common.zookeeper_identity import tool_identity
from kafka_zk.tools.zookeeper_shell.commands import COMMANDS, usage
from kafka_zk.tools.zookeeper_shell.session import CommandError, Shell

TLS_OPTION = "-zk-tls-config-file"
SCRIPT_USAGE = "USAGE: zookeeper-shell.sh zookeeper_host:port[/path] [-zk-tls-config-file file] [args...]"
_WORD = re.compile(r"""\s*([^"']\S*|"[^"]*"|'[^']*')\s*""")


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        print(SCRIPT_USAGE)
        return 1
    if given[0] in ("--help", "-h"):
        print(SCRIPT_USAGE)
        return 0
    connect, words = given[0], given[1:]
    config_file = None
    if words[:1] == [TLS_OPTION]:
        config_file, words = "".join(words[1:2]), words[2:]
    try:
        shell = Shell(connect, tool_identity(config_file))
    except (ConfigException, JavaError) as error:
        tell_as_thrown(error)
        return 1
    print(f"Connecting to {connect.encode('utf-8', 'replace').decode()}", flush=True)
    try:
        check_connect_string(connect)
    except JavaError as error:
        tell_as_thrown(error)
        return 1
    try:
        return _run(shell, words) if words else _run_lines(shell)
    finally:
        shell.abandon()


def _run_lines(shell: Shell) -> int:
    terminal = sys.stdin.isatty()
    print("Welcome to ZooKeeper!")
    print(f"JLine support is {'enabled' if terminal else 'disabled'}", flush=True)
    exit_code = 0
    for line in _lines_from_terminal(shell) if terminal else iter(sys.stdin.readline, ""):
        text = line.rstrip("\n")
        if not text:
            continue
        shell.history.append(text)
        exit_code = _run(shell, words_of(text)) or exit_code
        if shell.quitting:
            break
    return exit_code


def _lines_from_terminal(shell: Shell) -> Iterator[str]:
    import readline  # noqa: F401  # input() gets line editing and history from it

    while True:
        try:
            yield input(f"[zk: {shell.connect}({shell.state}) {len(shell.history)}] ")
        except EOFError:
            return


def words_of(line: str) -> list[str]:
    """The words of a line; quotes keep spaces and are taken off."""
    return [
        word[1:-1] if len(word) > 1 and word[0] in "\"'" and word[0] == word[-1] else word
        for word in _WORD.findall(line)
    ] or [line]


def _run(shell: Shell, words: Sequence[str]) -> int:
    """Run one command; its exit code."""
    command = COMMANDS.get(words[0])
    try:
        if command is None:
            print(usage(), file=sys.stderr)
            raise CommandError(f"Command not found: Command not found {words[0]}", 127)
        command.run(shell, words[1:])
    except CommandError as error:
        if error.text:
            print(error.text, file=sys.stderr, flush=True)
        return error.exit_code
    finally:
        shell.print_events()
        sys.stdout.flush()
    if shell.redo is not None:
        line, shell.redo = shell.redo, None
        shell.history[-1] = line
        return _run(shell, words_of(line))
    return 0


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
