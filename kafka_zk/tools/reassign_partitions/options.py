"""Options of kafka-reassign-partitions.sh, and their valid combinations.

Role        Pure. Two sets of rules: those of 3.9 for --bootstrap-server, those of 2.8 for the legacy --zookeeper.
Source      ReassignPartitionsCommand.validateAndParseArgs and ReassignPartitionsCommandOptions of 3.9 and of 2.8.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.common.options import Option, Options, UsageError

HELP = "This tool helps to move topic partitions between replicas."
ACTIONS = ("generate", "execute", "verify", "cancel", "list")
_WITH_VALUE = (
    "bootstrap-server",
    "command-config",
    "reassignment-json-file",
    "topics-to-move-json-file",
    "broker-list",
    "throttle",
    "replica-alter-log-dirs-throttle",
    "timeout",
)
_WITHOUT_VALUE = (*ACTIONS, "disable-rack-aware", "additional", "preserve-throttles", "help", "version")
OPTIONS = (*(Option(name, True) for name in _WITH_VALUE), *(Option(name) for name in _WITHOUT_VALUE))
ZOOKEEPER_OPTIONS = (*OPTIONS, Option("zookeeper", True))

_REQUIRED = {
    "verify": ("reassignment-json-file",),
    "generate": ("topics-to-move-json-file", "broker-list"),
    "execute": ("reassignment-json-file",),
    "cancel": ("reassignment-json-file",),
    "list": (),
}
_PERMITTED = {
    "verify": ("preserve-throttles",),
    "generate": ("disable-rack-aware",),
    "execute": ("additional", "throttle", "replica-alter-log-dirs-throttle", "timeout"),
    "cancel": ("preserve-throttles", "timeout"),
    "list": (),
}
_CONNECTION = ("bootstrap-server", "command-config")
_WITH_ZOOKEEPER = ("verify", "generate", "execute")
_BROKERS_ONLY = ("additional", "cancel", "command-config", "replica-alter-log-dirs-throttle", "list", "timeout")


def checked_action(options: Options) -> str:
    """The one action asked for. Raises UsageError or VersionAsked unless 3.9's tool would continue."""
    action = _only_action(options)
    if not options.has("bootstrap-server"):
        raise UsageError("Please specify --bootstrap-server")
    _check_company(options, action, _CONNECTION)
    return action


def checked_action_for_zookeeper(options: Options) -> str:
    """The same by the rules of 2.8. Raises JavaError, too."""
    action = _only_action(options)
    if not options.has("bootstrap-server") and not options.has("zookeeper"):
        raise UsageError("Please specify --bootstrap-server")
    _check_company(options, action, (*_CONNECTION, "zookeeper") if action in _WITH_ZOOKEEPER else _CONNECTION)
    if not options.has("bootstrap-server"):
        for name in _BROKERS_ONLY:
            if options.has(name):
                message = f'You must specify --bootstrap-server when using "[{name}]"'
                raise JavaError(message, "java.lang.RuntimeException")
    return action


def _only_action(options: Options) -> str:
    options.check_help_or_version(without_arguments=HELP, help_text=HELP)
    found = [action for action in ACTIONS if options.has(action)]
    if len(found) != 1:
        listed = ", ".join(f"--{action}" for action in ACTIONS)
        raise UsageError(f"Command must include exactly one action: {listed}")
    return found[0]


def _check_company(options: Options, action: str, connection: Sequence[str]) -> None:
    options.require(*_REQUIRED[action])
    allowed = {action, *_REQUIRED[action], *_PERMITTED[action], *connection}
    for name in options.in_order():
        if name not in allowed:
            raise UsageError(f'Option "[{name}]" can\'t be used with action "[{action}]"')
