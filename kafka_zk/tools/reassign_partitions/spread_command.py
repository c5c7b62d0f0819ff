"""The command line of --drain and --balance."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from kafka_zk.tools.common.command_config import api_timeout_ms, client_properties
from kafka_zk.tools.common.endings import exit_code_of
from kafka_zk.tools.common.failures import FAILURES, Refused
from kafka_zk.tools.common.java_output import JavaError, message_of, show_warnings
from kafka_zk.tools.common.options import Options
from kafka_zk.tools.reassign_partitions.spread_options import HELP, OPTIONS, read

NAMES = ("drain", "balance")


def main(arguments: Sequence[str]) -> int:
    """Blocks. The exit code."""
    return exit_code_of(lambda: _main(arguments), tool="reassign_partitions", tell=_tell)


def _tell(error: Exception) -> None:
    print(message_of(error), file=sys.stderr)


def _main(arguments: Sequence[str]) -> int:
    if "--help" in arguments:
        print(HELP, end="")
        return 0
    try:
        options = Options(OPTIONS, arguments)
    except JavaError as error:
        raise Refused(f"{error}. See --drain --help.") from None
    wanted = read(options)
    properties = {"client.id": "reassign-partitions-tool", **client_properties(options)}
    show_warnings(api_timeout_ms(properties))
    from kafka_zk.client.admin.admin_client import AdminClient
    from kafka_zk.tools.reassign_partitions.spreading import Spreading, ask_on_terminal

    again = f"kafka-reassign-partitions.sh {shlex.join(arguments)}"
    try:
        with AdminClient(properties) as admin:
            return Spreading(admin, wanted, again).run(ask_on_terminal)
    except FAILURES as error:
        raise Refused(f"{message_of(error)}\nWhat is left is done by the same command:\n  {again}") from error
