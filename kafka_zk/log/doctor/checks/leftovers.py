"""Checks for leftover and unknown files in a partition's directory."""

from __future__ import annotations

from kafka_zk.log.doctor.findings import (
    INDEX_ORPHANED,
    LEFT_BY_CLEANING,
    LEFT_BY_DELETION,
    LEFT_BY_WRITE,
    UNKNOWN_FILE,
    Notes,
)
from kafka_zk.log.doctor.partition_files import PartitionFiles
from kafka_zk.log.files import names

KNOWN = frozenset((names.LEADER_EPOCHS, names.PARTITION_METADATA))


def check_leftovers(notes: Notes, files: PartitionFiles) -> None:
    deleted = [name for name in files.others if name.endswith(names.DELETED)]
    for file in sorted(files.sizes):
        name = names.offset_file_name(*file)
        if file.state == names.DELETED:
            deleted.append(name)
        elif file.state:
            what = (
                "a cleaning that was not finished"
                if file.state == names.CLEANED
                else "a finished cleaning that was not swapped in"
            )
            notes.add(LEFT_BY_CLEANING, name, f"{what}, {files.sizes[file]} bytes")
        elif file.kind in names.INDEXES and not files.has(file.offset, names.LOG):
            notes.add(INDEX_ORPHANED, name, "no segment has this base offset")
    if deleted:
        notes.add(LEFT_BY_DELETION, f"*{names.DELETED}", f"{len(deleted)} files that are no longer needed")
    for name in files.others:
        if name.endswith(".tmp"):
            notes.add(LEFT_BY_WRITE, name, "a write that was not finished")
        elif name not in KNOWN and name not in deleted:
            notes.add(UNKNOWN_FILE, name, "not a file of Kafka's")
