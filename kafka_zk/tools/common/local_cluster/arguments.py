"""Command lines of the cluster tools: wrong ones are told with the usage, and end with exit code 2."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_zk.config.errors import ConfigException
from kafka_zk.tools.common.failures import FAILURES, Refused
from kafka_zk.tools.common.java_output import message_of
from kafka_zk.tools.common.local_cluster.interruption import Interrupted, Interruption
from kafka_zk.tools.common.local_cluster.plan import PlanError

if TYPE_CHECKING:
    from kafka_zk.tools.common.program import Shutdown

DEFAULT_FOLDER = Path("kafka-cluster")
CODES = "exit codes: 0 done; 1 not done; 2 wrong options; 130, 143, 129 interrupted by Ctrl-C, SIGTERM, SIGHUP"


def parser_of(name: str, description: str, epilog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{name}.sh",
        description=description,
        epilog=f"{epilog}\n{CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--folder", type=Path, default=DEFAULT_FOLDER, help="the folder of the brokers (default: ./%(default)s)"
    )
    return parser


def add_timeout(parser: argparse.ArgumentParser, default_s: int, what: str) -> None:
    parser.add_argument(
        "--timeout", type=number, default=default_s, metavar="S", help=f"seconds {what} (default: %(default)s)"
    )


def number(text: str) -> int:
    """A number from 0 on, in digits. Raises argparse.ArgumentTypeError."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return int(text)


def run_tool(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str],
    shutdown: Shutdown,
    work: Callable[[argparse.Namespace, Interruption], int],
) -> int:
    """Blocks. Parse, work, and tell what went wrong; the exit code."""
    try:
        options = parser.parse_args(arguments)
    except SystemExit as ending:
        # --help, or wrong options: told already.
        return int(ending.code or 0)
    name, interruption = parser.prog.removesuffix(".sh"), Interruption()
    with interruption.heeded_by(shutdown):
        try:
            return work(options, interruption)
        except Interrupted as error:
            print(f"{name}: interrupted; {error}", file=sys.stderr)
        except OSError as error:
            named = f"{error.filename}: " if error.filename else ""
            print(f"{name}: {named}{error.strerror or error}", file=sys.stderr)
        except (Refused, PlanError, ConfigException) as error:
            print(f"{name}: {error}", file=sys.stderr)
        except FAILURES as error:
            print(f"{name}: {message_of(error)}", file=sys.stderr)
        return 1


def say(text: str) -> None:
    """At once: whoever watches sees what is under way."""
    print(text, flush=True)
