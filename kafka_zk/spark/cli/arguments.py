"""The command line of kafka-pipeline.sh, made from the declared settings.

Role        Pure but for reading the TOML file that it names.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from kafka_zk.spark.cli.secrets import refuse_on_command_line
from kafka_zk.spark.settings.declaration import JobDeclaration, Kind, Setting, SettingError, Settings
from kafka_zk.spark.settings.jobs import JOBS
from kafka_zk.spark.settings.toml_file import merged, read_toml, settings_of

PROGRAM = "kafka-pipeline.sh"
DESCRIPTION = "Move data into, through and out of Kafka with Spark."
EPILOG = """\
kafka-pipeline.sh JOB --help lists a job's settings. Each can also be set in pipeline.toml: below [JOB], those of the
cluster below [kafka] by Kafka's names, those of Spark below [spark].

kafka-pipeline.sh --package FILE.tar.gz [--include DISTRIBUTION...] packages what workers without kafka_zk need.

exit codes: 0 done; 1 wrong usage, or the job failed; 2 the audit found problems; 3 a later run of the same
job has taken over; 130 interrupted."""


class WrongUsage(Exception):
    """Invalid arguments."""


@dataclass(frozen=True, slots=True)
class Packing:
    """--package: the file to write, and additional distributions to include."""

    target: Path
    include: list[str]


@dataclass(frozen=True, slots=True)
class Run:
    """A job and its checked settings."""

    job: JobDeclaration
    settings: Settings


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise WrongUsage(f"{self.format_usage()}{self.prog}: {message}")


class _JobParser(_Parser):
    """Reports unknown arguments itself, with the usage of the job instead of the program."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


def parse(arguments: Sequence[str]) -> Run | Packing:
    """Raises WrongUsage; prints the help and exits for --help."""
    parser = _parser()
    given = vars(parser.parse_args(arguments))
    if given.pop("package", None) is not None:
        return _packing(arguments)
    name = given.pop("job", None)
    if name is None:
        raise WrongUsage(f"{parser.format_usage()}{PROGRAM}: missing job, expected one of: {', '.join(JOBS)}")
    job = JOBS[name]
    config = given.pop("config")
    options = {key.replace("_", "-"): value for key, value in given.items() if value is not None and key != "include"}
    try:
        refuse_on_command_line(options)
        from_file = settings_of(job, read_toml(Path(config)), JOBS) if config else {}
        return Run(job, Settings(job, merged(job, from_file, options)))
    except SettingError as error:
        raise WrongUsage(f"{PROGRAM} {name}: {error}") from None


def _packing(arguments: Sequence[str]) -> Packing:
    parser = _Parser(prog=PROGRAM)
    parser.add_argument("--package", required=True)
    parser.add_argument("--include", nargs="+", default=[])
    given = parser.parse_args(arguments)
    if not given.package.endswith((".tar.gz", ".tgz")):
        raise WrongUsage(f"{PROGRAM}: the package name must end in .tar.gz")
    return Packing(Path(given.package), given.include)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=PROGRAM,
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--package", metavar="FILE.tar.gz", help="package what workers need instead of running a job")
    parser.add_argument(
        "--include", nargs="+", metavar="DISTRIBUTION", help="additional installed distributions to package"
    )
    jobs = parser.add_subparsers(dest="job", metavar="JOB", parser_class=_JobParser)
    for job in JOBS.values():
        one = jobs.add_parser(job.name, help=job.summary, description=job.summary, allow_abbrev=False)
        one.add_argument("--config", metavar="pipeline.toml", help="file with settings; options override it")
        for setting in job.settings:
            _add(one, setting)
    return parser


def _add(parser: argparse.ArgumentParser, setting: Setting) -> None:
    option, dest = f"--{setting.name}", setting.name.replace("-", "_")
    text = setting.doc.replace("%", "%%")
    if setting.default not in (None, False):
        text += f" (default: {setting.default})"
    if setting.kind is Kind.FLAG and setting.default is None:
        # What it is unless it is given depends on others, so it can be given as false, too.
        parser.add_argument(option, dest=dest, action=argparse.BooleanOptionalAction, default=None, help=text)
    elif setting.kind is Kind.FLAG:
        parser.add_argument(option, dest=dest, action="store_true", default=None, help=text)
    elif setting.kind is Kind.LIST:
        parser.add_argument(option, dest=dest, nargs="+", metavar="NAME", help=text)
    elif setting.kind is Kind.MAPPING:
        parser.add_argument(option, dest=dest, action="append", metavar="KEY=VALUE", help=text)
    else:
        metavar = "{" + ",".join(setting.choices) + "}" if setting.choices else setting.kind.value
        parser.add_argument(option, dest=dest, metavar=metavar, help=text)
