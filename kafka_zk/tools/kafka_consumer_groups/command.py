"""kafka-consumer-groups.sh: lists and describes consumer groups, deletes them, resets and deletes their offsets.

What goes wrong with groups is told on stdout, and the exit code is 0; only what is wrong with the options exits with 1.
Source: org.apache.kafka.tools.consumer.group.ConsumerGroupCommand.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_zk.tools.argparse4j import thrown_by_main
from kafka_zk.tools.failures import FAILURES
from kafka_zk.tools.java_output import JavaError, runtime_error, show_warnings
from kafka_zk.tools.kafka_consumer_groups.options import parsed
from kafka_zk.tools.kafka_consumer_groups.output import print_error
from kafka_zk.tools.options import VERSION_TEXT, OptionError, Options, UsageError, VersionAsked, usage_of

if TYPE_CHECKING:
    from kafka_zk.tools.kafka_consumer_groups.questions import Questions

FAILURE_TEXT = "Executing consumer group command failed due to"
_ILLEGAL_ARGUMENTS = ("java.lang.IllegalArgumentException", "java.lang.NumberFormatException")


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        options = parsed(list(sys.argv[1:] if arguments is None else arguments))
        show_warnings()
        _run(options)
    except VersionAsked:
        print(VERSION_TEXT)
    except UsageError as error:
        print(error, file=sys.stderr)
        print(usage_of("consumer-groups"), end="", file=sys.stderr)
        return 1
    except OptionError as error:
        print(thrown_by_main(error), end="", file=sys.stderr)
        return 1
    return 0


def _run(options: Options) -> None:
    """Raises UsageError for what is wrong with an argument; tells of everything else itself."""
    try:
        properties = _properties(options)
        from kafka_zk.client.admin.admin_client import AdminClient
        from kafka_zk.tools.kafka_consumer_groups.questions import Questions

        with AdminClient(properties) as admin:
            _act(Questions(options, admin))
    except FAILURES as error:
        if getattr(error, "java_class", "") in _ILLEGAL_ARGUMENTS:
            raise UsageError(_message(error)) from error
        print_error(f"{FAILURE_TEXT} {_message(error)}", error)


def _message(error: BaseException) -> str:
    return str(error) if error.args else "null"


def _act(questions: Questions) -> None:
    options = questions.options
    if options.has("list"):
        from kafka_zk.tools.kafka_consumer_groups.describing import list_groups

        list_groups(questions)
    elif options.has("describe"):
        from kafka_zk.tools.kafka_consumer_groups.describing import describe_groups

        describe_groups(questions)
    elif options.has("reset-offsets"):
        from kafka_zk.tools.kafka_consumer_groups.resetting import reset_offsets

        reset_offsets(questions)
    else:
        from kafka_zk.tools.kafka_consumer_groups import deleting

        (deleting.delete_groups if options.has("delete") else deleting.delete_offsets)(questions)


def _properties(options: Options) -> dict[str, str]:
    """Raises OptionError, JavaError."""
    properties = {}
    path = options.text("command-config")
    if path is not None:
        from kafka_zk.tools.command_config import read_command_config

        try:
            properties = read_command_config(path)
        except JavaError as error:
            raise runtime_error(error) from error
    return {**properties, "bootstrap.servers": options.text("bootstrap-server") or ""}
