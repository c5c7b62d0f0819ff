"""kafka-acls.sh: lists, adds and removes ACLs, at a broker or past the brokers.

Options, texts, streams and exit codes are those of Apache Kafka 3.9.
Source: kafka.admin.AclCommand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from kafka_zk.client.admin.acls import AccessControlEntry, AclBinding, ResourcePattern
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.tools.acls.services import service_of
from kafka_zk.tools.acls.wanted import RESOURCE_OPTIONS, principals_of, resources_of, rules_of, rules_to_add
from kafka_zk.tools.common.endings import exit_code_of, run_as_program, tell_as_thrown
from kafka_zk.tools.common.failures import FAILURES
from kafka_zk.tools.common.java_output import JavaError, message_of, stack_trace
from kafka_zk.tools.common.options import Option, Options, UsageError

ABOUT = "This tool helps to manage acls on kafka."
WITH_VALUE = (
    "allow-host", "allow-principal", "authorizer", "authorizer-properties", "bootstrap-server", "deny-host",
    "deny-principal", "operation", "resource-pattern-type", "zk-tls-config-file",
    *(name for name, _ in RESOURCE_OPTIONS),
)  # fmt: skip
FLAGS = ("add", "remove", "list", "cluster", "consumer", "producer", "idempotent", "force", "help", "version")
OPTIONS = (
    *(Option(name, takes_value=True) for name in WITH_VALUE),
    *(Option(name, takes_value=True, value_is_optional=True) for name in ("command-config", "principal")),
    *map(Option, FLAGS),
)
DEPRECATED = (
    "Warning: support for ACL configuration directly through the authorizer is deprecated and will be removed in a "
    "future release. Please use --bootstrap-server instead to set ACLs through the admin client."
)
CONSUMER_NEEDS = (
    "With --consumer you must specify a --topic and a --group and no --cluster or --transactional-id option should be "
    "specified."
)


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    return exit_code_of(lambda: _main(words), tool="acls", tell=tell_as_thrown)


def _main(arguments: Sequence[str]) -> int:
    options = Options(OPTIONS, arguments)
    options.check_help_or_version(without_arguments=ABOUT, help_text=ABOUT)
    check(options)
    try:
        if options.has("list"):
            _list(options)
        elif options.has("add"):
            _add(options)
        else:
            _remove(options)
    except (JavaError, KafkaException, BrokerError, *FAILURES) as error:
        if isinstance(error, UsageError):
            raise
        print(f"Error while executing ACL command: {message_of(error)}")
        print(stack_trace(error))
        return 1
    return 0


def check(options: Options) -> None:
    """Raise UsageError unless the options go together."""
    has = options.has
    if has("bootstrap-server") and has("authorizer"):
        raise UsageError("Only one of --bootstrap-server or --authorizer must be specified")
    if not has("bootstrap-server"):
        options.require("authorizer-properties")
        print(DEPRECATED, file=sys.stderr)
    if has("command-config") and not has("bootstrap-server"):
        raise UsageError("The --command-config option can only be used with --bootstrap-server option")
    if has("authorizer-properties") and has("bootstrap-server"):
        raise UsageError("The --authorizer-properties option can only be used with --authorizer option")
    if sum(map(has, ("add", "remove", "list"))) != 1:
        raise UsageError("Command must include exactly one action: --list, --add, --remove. ")
    options.refuse_beside(
        "list", ("producer", "consumer", "allow-host", "allow-principal", "deny-host", "deny-principal")
    )
    options.refuse_beside("producer", ("operation", "deny-principal", "deny-host"))
    options.refuse_beside("consumer", ("operation", "deny-principal", "deny-host"))
    if has("principal") and not has("list"):
        raise UsageError("The --principal option is only available if --list is set")
    if has("producer") and not has("topic"):
        raise UsageError("With --producer you must specify a --topic")
    if has("idempotent") and not has("producer"):
        raise UsageError("The --idempotent option is only available if --producer is set")
    others = not has("producer") and (has("cluster") or has("transactional-id"))
    if has("consumer") and (not has("topic") or not has("group") or others):
        raise UsageError(CONSUMER_NEEDS)


def _list(options: Options) -> None:
    with service_of(options) as service:
        patterns = resources_of(options, may_be_none=True)
        principals = principals_of(options, "principal")
        found = _by_pattern(service.listed(patterns))
        if not principals:
            _show(found)
        for principal in principals:
            print(f"ACLs for principal `{principal}`")
            own = {
                pattern: [entry for entry in entries if entry.principal == principal]
                for pattern, entries in found.items()
            }
            _show({pattern: entries for pattern, entries in own.items() if entries})


def _add(options: Options) -> None:
    rules = rules_to_add(options)
    with service_of(options) as service:
        for pattern, entries in rules.items():
            print(f"Adding ACLs for resource `{pattern}`: \n {_lines(entries)} \n")
            service.add(pattern, entries)


def _remove(options: Options) -> None:
    with service_of(options) as service:
        for pattern, entries in rules_of(options).items():
            if not entries:
                question = f"Are you sure you want to delete all ACLs for resource filter `{pattern}`? (y/n)"
            else:
                question = (
                    f"Are you sure you want to remove ACLs: \n {_lines(entries)} \n from resource filter "
                    f"`{pattern}`? (y/n)"
                )
            if options.has("force") or _is_confirmed(question):
                service.remove(pattern, entries)


def _is_confirmed(question: str) -> bool:
    print(question, flush=True)
    answer = sys.stdin.readline()
    if not answer:
        raise JavaError(
            'Cannot invoke "String.equalsIgnoreCase(String)" because the return value of '
            '"scala.io.StdIn$.readLine()" is null',
            "java.lang.NullPointerException",
        )
    return answer.rstrip("\n").lower() == "y"


def _by_pattern(bindings: Iterable[AclBinding]) -> dict[ResourcePattern, list[AccessControlEntry]]:
    found: dict[ResourcePattern, list[AccessControlEntry]] = {}
    for pattern, entry in dict.fromkeys(bindings):
        found.setdefault(pattern, []).append(entry)
    return found


def _show(found: dict[ResourcePattern, list[AccessControlEntry]]) -> None:
    for pattern, entries in found.items():
        print(f"Current ACLs for resource `{pattern}`: \n {_lines(entries)} \n")


def _lines(entries: Sequence[AccessControlEntry]) -> str:
    return "\n".join(f"\t{entry}" for entry in entries)


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
