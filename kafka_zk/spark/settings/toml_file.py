"""pipeline.toml: one table per job, one for Spark, one per cluster.

Role        Plain: reads the file; the declaration checks its content.
Invariants  The command line wins over the file; of a mapping it wins key by key. The file may hold tables of other
            jobs, and nothing else that the declarations do not know.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from kafka_zk.spark.settings.declaration import JobDeclaration, Kind, SettingError


def read_toml(path: Path) -> dict[str, object]:
    """Raises SettingError for a file that cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{path}: {error}") from None


def settings_of(job: JobDeclaration, content: Mapping[str, object], jobs: Mapping[str, object]) -> dict[str, object]:
    """What the file says about one job, by the names of its settings; `jobs` are the tables that belong to others."""
    found: dict[str, object] = {}
    sections = {row.section for row in job.settings if row.section}
    for table_name, table in content.items():
        if not isinstance(table, dict):
            raise SettingError(f"{table_name!r} is outside of any table; move it below [{job.name}]")
        if table_name == job.name:
            found |= _of_section(job, "", table)
        elif table_name in sections:
            found |= _of_section(job, table_name, table)
        elif table_name not in jobs and table_name not in KNOWN_SECTIONS:
            raise SettingError(f"there is no job or section named {table_name!r}")
    return found


KNOWN_SECTIONS = frozenset(("kafka", "target", "spark"))


def _of_section(job: JobDeclaration, section: str, table: Mapping[str, object]) -> dict[str, object]:
    rows = {row.toml_key: row for row in job.settings if row.section == section and row.toml_key}
    rest = next((row for row in job.settings if row.section == section and row.key == "*"), None)
    found: dict[str, object] = {}
    others: dict[str, object] = {}
    for key, value in (table if rest is None else _dotted(table)).items():
        if key in rows and rows[key] is not rest:
            found[rows[key].name] = value
        elif rest is not None:
            others[key] = value
        else:
            place = section or job.name
            raise SettingError(f"[{place}] has no setting {key!r}")
    if others and rest is not None:
        found[rest.name] = others
    return found


def _dotted(table: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Kafka's names have dots, and an unquoted `bootstrap.servers = ...` is a table within a table to TOML."""
    found: dict[str, object] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found |= _dotted(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found


def merged(job: JobDeclaration, file: Mapping[str, object], options: Mapping[str, object]) -> dict[str, object]:
    """Both together. Raises SettingError for a mapping that cannot be read."""
    result = dict(file) | dict(options)
    for name, row in job.by_name().items():
        if row.kind is Kind.MAPPING and name in file and name in options:
            below, above = row.parse(file[name]), row.parse(options[name])
            assert isinstance(below, dict) and isinstance(above, dict)
            result[name] = below | above
    for group in job.needs_one_of:
        # An option replaces its alternative in the file.
        if any(name in options for name in group):
            for name in group:
                if name not in options:
                    result.pop(name, None)
    return result
