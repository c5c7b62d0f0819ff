"""The offsets of a log are moved by its UnifiedLog alone: whoever else wants one moved asks it to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import kafka_zk

ROOT = Path(kafka_zk.__file__).parent
OFFSETS = {"log_start_offset", "log_end_offset", "high_watermark", "last_stable_offset", "recovery_point"}
OWNER = "log/unified_log.py"
ROOMS_WITH_LOGS = ("log", "replication", "coordinator", "api", "broker")
OTHERS_FIELDS = {
    "log/doctor/partition.py": {"report.log_start_offset"},
    "log/doctor/rehearsal.py": {"result.log_start_offset", "result.log_end_offset"},
}
"""What is called like an offset of a log and belongs to something else."""


def assigned(path: Path) -> Iterator[str]:
    """Each attribute that is called like an offset and assigned, with what it is an attribute of."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in OFFSETS:
            yield ast.unparse(node)


def test_no_other_module_moves_the_offset_of_a_log() -> None:
    for room in ROOMS_WITH_LOGS:
        for path in sorted((ROOT / room).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            strange = {each for each in assigned(path) if not each.startswith("self.")}
            assert name == OWNER or strange == OTHERS_FIELDS.get(name, set()), name


def test_the_owner_does_move_them() -> None:
    assert set(assigned(ROOT / OWNER)) == {f"self.{offset}" for offset in OFFSETS}
