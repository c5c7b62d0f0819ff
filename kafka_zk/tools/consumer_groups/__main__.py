"""kafka-consumer-groups.sh: lists and describes consumer groups, deletes them, resets and deletes their offsets.

Errors with groups are printed on stdout, with exit code 0; only wrong options exit with 1.
Source: org.apache.kafka.tools.consumer.group.ConsumerGroupCommand.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_zk.tools.common.command_config import API_TIMEOUT_MS, api_timeout_ms, client_properties
from kafka_zk.tools.common.endings import exit_code_of, run_as_program, tell_as_thrown
from kafka_zk.tools.common.failures import FAILURES
from kafka_zk.tools.common.java_output import JavaError, message_of, runtime_error, show_warnings
from kafka_zk.tools.common.options import OptionError, Options, UsageError
from kafka_zk.tools.consumer_groups.options import parsed
from kafka_zk.tools.consumer_groups.output import print_error

if TYPE_CHECKING:
    from kafka_zk.tools.consumer_groups.questions import Questions

FAILURE_TEXT = "Executing consumer group command failed due to"
_ILLEGAL_ARGUMENTS = ("java.lang.IllegalArgumentException", "java.lang.NumberFormatException")


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    return exit_code_of(lambda: _run(words), tool="consumer_groups", tell=tell_as_thrown)


def _run(words: Sequence[str]) -> None:
    """Raises UsageError and OptionError for wrong words, and VersionAsked; prints all other errors itself."""
    options = parsed(words)
    show_warnings(API_TIMEOUT_MS)
    try:
        properties = _properties(options)
        show_warnings(api_timeout_ms(properties))
        from kafka_zk.client.admin.admin_client import AdminClient
        from kafka_zk.tools.consumer_groups.questions import Questions

        with AdminClient(properties) as admin:
            _act(Questions(options, admin))
    except FAILURES as error:
        if getattr(error, "java_class", "") in _ILLEGAL_ARGUMENTS:
            raise UsageError(message_of(error)) from error
        print_error(f"{FAILURE_TEXT} {message_of(error)}", error)


def _act(questions: Questions) -> None:
    options = questions.options
    if options.has("list"):
        from kafka_zk.tools.consumer_groups.describing import list_groups

        list_groups(questions)
    elif options.has("describe"):
        from kafka_zk.tools.consumer_groups.describing import describe_groups

        describe_groups(questions)
    elif options.has("reset-offsets"):
        from kafka_zk.tools.consumer_groups.resetting import reset_offsets

        reset_offsets(questions)
    else:
        from kafka_zk.tools.consumer_groups import deleting

        (deleting.delete_groups if options.has("delete") else deleting.delete_offsets)(questions)


def _properties(options: Options) -> dict[str, str]:
    """Raises OptionError, JavaError."""
    try:
        return client_properties(options)
    except OptionError:
        raise
    except JavaError as error:
        raise runtime_error(error) from error


def run() -> int:
    """`main` as a program."""
    return run_as_program(main)


if __name__ == "__main__":
    sys.exit(run())
