"""The commands: one row each, from which scripts, entry points and lists follow.

Role        Pure, but for `main`: `python -m kafka_zk.tools.commands` writes what follows from the rows, which is each
            script in scripts/, [project.scripts] in pyproject.toml and the list in the tools' README. A test compares.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Command(NamedTuple):
    """`usage` is what the script's header shows after the name."""

    name: str
    summary: str
    usage: str = " --help"

    @property
    def package(self) -> str:
        """The package below kafka_zk.tools that holds it."""
        return self.name.removeprefix("kafka-").replace("-", "_")

    @property
    def entry_point(self) -> str:
        return f"kafka_zk.tools.{self.package}.__main__:run"


COMMANDS = (
    Command("kafka-server-start", "Starts a broker", " [-daemon] server.properties [--override key=value]..."),
    Command("kafka-server-stop", "Stops the brokers of this machine", ""),
    Command("kafka-cluster-up", "Starts several brokers on this machine, or those that are missing", " N [option...]"),
    Command("kafka-cluster-restart", "Restarts them, one after the other, while the cluster serves"),
    Command("kafka-cluster-down", "Stops them, one after the other"),
    Command("kafka-topics", "Creates, deletes, describes and changes topics"),
    Command("kafka-configs", "Describes and changes configurations, quotas and SCRAM credentials"),
    Command("kafka-acls", "Lists, adds and removes ACLs"),
    Command("kafka-delegation-tokens", "Creates, renews, ends and describes delegation tokens"),
    Command(
        "kafka-consumer-groups",
        "Lists and describes consumer groups, deletes them, and resets or deletes their offsets",
    ),
    Command("kafka-console-producer", "Sends lines from standard input to a topic"),
    Command("kafka-console-consumer", "Prints the records of topics"),
    Command("kafka-producer-perf-test", "Measures how fast records can be produced"),
    Command("kafka-consumer-perf-test", "Measures how fast records can be consumed"),
    Command("kafka-verifiable-producer", "Sends numbers to a topic and reports each, for system tests"),
    Command("kafka-verifiable-consumer", "Consumes a topic and reports each event, for system tests"),
    Command("kafka-e2e-latency", "Measures the latency from producer to consumer", ""),
    Command("kafka-reassign-partitions", "Moves replicas of partitions between brokers and between log directories"),
    Command("kafka-leader-election", "Elects leaders of partitions, preferred or unclean ones"),
    Command("kafka-preferred-replica-election", "Gives partitions back to their preferred leaders (the tool of 2.8)"),
    Command("kafka-replica-verification", "Compares the replicas of topics for as long as it runs"),
    Command("kafka-get-offsets", "Prints offsets of partitions by time or position"),
    Command("kafka-delete-records", "Deletes records of partitions up to given offsets"),
    Command("kafka-streams-application-reset", "Resets an application of Kafka Streams"),
    Command("kafka-transactions", "Lists and describes transactions, finds hanging ones and aborts them"),
    Command("kafka-log-dirs", "Describes the log directories of brokers"),
    Command("kafka-broker-api-versions", "Prints the request versions that brokers support"),
    Command("kafka-cluster", "Prints the id of a cluster"),
    Command("kafka-features", "Describes and changes the features of a cluster"),
    Command("kafka-dump-log", "Prints the content of the files in a log directory"),
    Command("kafka-log-doctor", "Checks the directories of a stopped broker, and reports what a start would do"),
    Command("kafka-pipeline", "Moves data into, through and out of Kafka with Spark"),
    Command("zookeeper-server-start", "Starts Apache ZooKeeper", " [-daemon] zookeeper.properties"),
    Command("zookeeper-server-stop", "Stops the ZooKeeper of this machine", ""),
    Command("zookeeper-security-migration", "Sets the access lists of a cluster's znodes"),
    Command("zookeeper-shell", "Shows and changes znodes", " host:port [command...]"),
)


def script_of(command: Command) -> str:
    """The content of scripts/<name>.sh."""
    return (
        "#!/usr/bin/env bash\n"
        f"# {command.summary}: {command.name}.sh{command.usage}\n"
        f'exec "$(dirname "$(readlink -f "${{BASH_SOURCE[0]}}")")/kafka-run.sh" {command.package} "$@"\n'
    )


def entry_points() -> str:
    """The rows of [project.scripts]."""
    return "".join(f'{command.name} = "{command.entry_point}"\n' for command in COMMANDS)


def list_of_commands() -> str:
    """The list in kafka_zk/tools/README.md."""
    rows = (f"| `{command.name}.sh` | {command.package} | {command.summary} |\n" for command in COMMANDS)
    return "| command | package | what it does |\n|---|---|---|\n" + "".join(rows)


def written(text: str, between: tuple[str, str], content: str) -> str:
    """`text` with `content` between two of its lines."""
    begin, end = between
    head, found, rest = text.partition(begin)
    _, found_end, tail = rest.partition(end)
    assert found and found_end, f"no {begin!r} ... {end!r}"
    return f"{head}{begin}{content}{end}{tail}"


IN_PYPROJECT = ("[project.scripts]\n", "\n[")
IN_README = ("<!-- commands: made by python -m kafka_zk.tools.commands -->\n", "<!-- end of commands -->\n")


def main() -> None:
    """Write everything that follows from the rows into the checkout."""
    project = Path(__file__).resolve().parents[2]
    for command in COMMANDS:
        script = project / "scripts" / f"{command.name}.sh"
        script.write_text(script_of(command))
        script.chmod(0o755)
    for name, between, content in (
        ("pyproject.toml", IN_PYPROJECT, entry_points()),
        ("kafka_zk/tools/README.md", IN_README, list_of_commands()),
    ):
        path = project / name
        path.write_text(written(path.read_text(), between, content))


if __name__ == "__main__":
    main()
