"""Options of kafka-consumer-groups.sh, and their valid combinations.

Role        Pure, but for one warning on stderr.
Source      ConsumerGroupCommandOptions, ConsumerGroupCommand.main.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from kafka_zk.tools.common.java_values import lowest_bits
from kafka_zk.tools.common.options import Option, Options, UsageError

ABOUT = (
    "This tool helps to list all consumer groups, describe a consumer group, delete consumer group info, "
    "or reset consumer group offsets."
)
ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets")
DEFAULT_TIMEOUT_MS = 5000
_WITH_VALUE = (
    "bootstrap-server",
    "by-duration",
    "command-config",
    "from-file",
    "group",
    "shift-by",
    "timeout",
    "to-datetime",
    "to-offset",
    "topic",
)
_WITHOUT_VALUE = (
    *ACTIONS,
    "all-groups",
    "all-topics",
    "dry-run",
    "execute",
    "export",
    "help",
    "to-current",
    "to-earliest",
    "to-latest",
    "version",
)
OPTIONS = (
    *(Option(name, True) for name in _WITH_VALUE),
    *(Option(name) for name in _WITHOUT_VALUE),
    *(Option(name, available_beside=("describe",)) for name in ("members", "offsets", "verbose")),
    Option("state", True, value_is_optional=True, available_beside=("describe", "list")),
    Option("type", True, value_is_optional=True, available_beside=("list",)),
)

# Java keeps these in hash sets, and refuses and prints in the order in which it walks over them.
GROUP_SCOPES = ("all-groups", "group")
GROUP_ACTIONS = ("reset-offsets", "describe", "delete", "list")
SCENARIOS = (
    "to-offset",
    "to-current",
    "to-datetime",
    "from-file",
    "by-duration",
    "to-earliest",
    "to-latest",
    "shift-by",
)
_ORDER_OF_CHECKS = (
    "to-offset",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "to-current",
    "shift-by",
    "from-file",
)
WITHOUT_EXECUTE = (
    "WARN: No action will be performed as the --execute option is missing."
    "In a future major release, the default behavior of this command will be to prompt the user before "
    "executing the reset rather than doing a dry run. You should add the --dry-run option explicitly "
    "if you are scripting this command and want to keep the current default behavior without prompting."
)


def parsed(arguments: Sequence[str]) -> Options:
    """Raises OptionError, UsageError, VersionAsked."""
    options = Options(OPTIONS, arguments)
    options.check_help_or_version(without_arguments=ABOUT, help_text=ABOUT)
    options.require("bootstrap-server")
    if options.has("describe"):
        _check_describe(options)
    if options.has("delete"):
        _require_one(options, "delete", GROUP_SCOPES, GROUP_SCOPES)
        if options.has("topic"):
            raise UsageError("The consumer does not support topic-specific offset deletion from a consumer group.")
    if options.has("delete-offsets") and not (options.has("group") and options.has("topic")):
        raise UsageError(f"Option [delete-offsets] takes the following options: {_names(GROUP_SCOPES)}")
    if options.has("reset-offsets"):
        _check_reset(options)
    options.refuse_beside("group", ("all-groups",))
    options.refuse_beside("group", ("list",))
    options.refuse_beside("topic", ("list", "describe"))
    if sum(map(options.has, ACTIONS)) != 1:
        listed = ", ".join(f"--{action}" for action in ACTIONS)
        raise UsageError(f"Command must include exactly one action: {listed}")
    return options


def _check_describe(options: Options) -> None:
    _require_one(options, "describe", GROUP_SCOPES, GROUP_ACTIONS)
    kinds = ("members", "offsets", "state")
    if sum(map(options.has, kinds)) > 1:
        raise UsageError(f"Option [describe] takes at most one of these options: {_names(kinds)}")
    if options.has("state") and options.text("state") is not None:
        raise UsageError("Option [describe] does not take a value for [state]")


def _check_reset(options: Options) -> None:
    if options.has("dry-run") and options.has("execute"):
        raise UsageError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not options.has("dry-run") and not options.has("execute"):
        print(WITHOUT_EXECUTE, file=sys.stderr)
    _require_one(options, "reset-offsets", GROUP_SCOPES, GROUP_SCOPES)
    for scenario in _ORDER_OF_CHECKS:
        options.refuse_beside(scenario, (other for other in SCENARIOS if other != scenario))


def _require_one(options: Options, action: str, needed: Iterable[str], named: Iterable[str]) -> None:
    if not any(map(options.has, needed)):
        raise UsageError(f"Option [{action}] takes one of these options: {_names(named)}")


def _names(options: Iterable[str]) -> str:
    return ", ".join(f"[{name}]" for name in options)


def timeout_ms(options: Options) -> int:
    """--timeout as a Java int, to which a long is truncated. Raises OptionError."""
    given = options.long("timeout")
    value = DEFAULT_TIMEOUT_MS if given is None else given
    return lowest_bits(value, 32)
