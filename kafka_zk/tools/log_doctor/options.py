"""The command line of the doctor."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

DESCRIPTION = """\
Checks the data directories (log.dirs) of a stopped broker, ours or Apache Kafka's, and reports what is wrong and what
the next start would do about it. Changes nothing, except with --rebuild-indexes or --apply."""

EPILOG = """\
exit codes: 0 nothing is lost or in danger; 1 wrong usage, a directory that cannot be read or is in use by a broker;
2 data is lost or in danger, a broker would not start, or a requested change could not be made."""


class WrongUsage(Exception):
    """Invalid arguments, or a request that cannot be fulfilled."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one run is asked to do."""

    directories: list[Path]
    deep: bool
    verbose: bool
    as_json: bool
    processes: int | None
    index_interval_bytes: int
    rebuild_indexes: bool
    all_indexes: bool
    znodes: bool
    apply: bool
    zookeeper: str
    broker_ids: list[int]
    overwrite: bool
    broker_retention: bool
    config: Path | None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise WrongUsage(f"{self.format_usage()}{self.prog}: {message}")


def parse(arguments: Sequence[str]) -> Wanted:
    """Raises WrongUsage; prints the help and exits for --help."""
    given = _parser().parse_args(arguments)
    directories = [Path(text).absolute() for text in given.directories]
    if len({path.resolve() for path in directories}) < len(directories):
        raise WrongUsage("a directory is given twice")
    if given.apply and not given.znodes:
        raise WrongUsage("--apply requires --znodes")
    if given.apply != bool(given.zookeeper):
        raise WrongUsage("--apply and --zookeeper host:port/chroot require each other")
    if given.znodes and given.rebuild_indexes:
        raise WrongUsage("--znodes and --rebuild-indexes cannot be combined; run them one after the other")
    if given.all and not given.rebuild_indexes:
        raise WrongUsage("--all requires --rebuild-indexes")
    if given.processes is not None and given.processes < 1:
        raise WrongUsage("--processes must be at least 1")
    if given.index_interval_bytes < 0:
        raise WrongUsage("--index-interval-bytes must not be negative")
    try:
        broker_ids = [int(text) for text in given.broker_id.split(",") if text]
    except ValueError:
        raise WrongUsage(f"--broker-id takes numbers, not {given.broker_id}") from None
    if len(broker_ids) not in (0, 1, len(directories)):
        raise WrongUsage("--broker-id takes one id, or one per directory in the same order")
    return Wanted(
        directories=directories,
        deep=given.deep,
        verbose=given.verbose,
        as_json=given.json,
        processes=given.processes,
        index_interval_bytes=given.index_interval_bytes,
        rebuild_indexes=given.rebuild_indexes,
        all_indexes=given.all,
        znodes=given.znodes,
        apply=given.apply,
        zookeeper=given.zookeeper,
        broker_ids=broker_ids,
        overwrite=given.overwrite,
        broker_retention=given.broker_retention,
        config=None if given.config is None else Path(given.config).absolute(),
    )


def _parser() -> _Parser:
    parser = _Parser(
        "kafka-log-doctor",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("directories", nargs="+", metavar="DIR", help="a directory of log.dirs")
    add("--deep", action="store_true", help="also check every record inside compressed batches")
    add("--verbose", action="store_true", help="also report what is normal (severity info)")
    add("--json", action="store_true", help="print one JSON document instead of a table")
    add("--processes", type=int, metavar="N", help="worker processes (default: one per CPU for more than 128 MB)")
    add(
        "--index-interval-bytes",
        type=int,
        default=4096,
        metavar="N",
        help="the topics' index.interval.bytes, for rebuilt indexes (default: 4096)",
    )
    add(
        "--config",
        metavar="server.properties",
        help="also warn of files with secrets that everybody can read: this one, and key stores that it names",
    )
    add("--rebuild-indexes", action="store_true", help="rebuild wrong or missing indexes, as recovery would")
    add("--all", action="store_true", help="with --rebuild-indexes: also rebuild indexes without a finding")
    znodes = parser.add_argument_group("when ZooKeeper's data is lost")
    add = znodes.add_argument
    add("--znodes", action="store_true", help="print the znodes that the directories imply")
    add("--apply", action="store_true", help="write them to --zookeeper; existing znodes are kept")
    add("--zookeeper", default="", metavar="HOST:PORT/CHROOT", help="where to write them")
    add(
        "--broker-id",
        default="",
        metavar="ID[,ID...]",
        help="broker that owns the directories, overriding meta.properties: one id, or one per directory",
    )
    add("--overwrite", action="store_true", help="with --apply: replace existing znodes that differ")
    add(
        "--broker-retention",
        action="store_true",
        help="let topics use the broker's retention; by default they get retention.ms=-1, so that nothing is "
        "deleted before their configs are restored",
    )
    return parser
