"""Which entries of a log directory are partitions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from kafka_zk.log.files import names


def partition_dirs(log_dir: Path) -> Iterator[Path]:
    """The directories in a log directory that should be partitions. Raises OSError."""
    with os.scandir(log_dir) as entries:
        found = sorted(entry.name for entry in entries if entry.is_dir())
    for name in found:
        if name not in (names.REMOTE_INDEX_CACHE, names.CLUSTER_METADATA_DIR):
            yield log_dir / name
