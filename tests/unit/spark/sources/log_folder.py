"""Partition directories with segments, for tests of what reads them."""

from __future__ import annotations

from pathlib import Path

from kafka_zk.log.files import checkpoint, clean_shutdown, names, offset_index, time_index
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import batches


def put_segment(directory: Path, content: bytes, *, indexed: bool = True) -> Path:
    """A segment file named by its first offset, with an index entry for each batch."""
    directory.mkdir(parents=True, exist_ok=True)
    found = list(batches(content))
    base = found[0].header.base_offset
    path = directory / names.offset_file_name(base, names.LOG)
    path.write_bytes(content)
    if indexed:
        offsets, times, latest = b"", b"", -1
        for batch in found[1:]:
            offsets += offset_index.ENTRY.pack(batch.header.last_offset - base, batch.position)
        for batch in found:
            if batch.header.max_timestamp > latest:
                latest = batch.header.max_timestamp
                times += time_index.ENTRY.pack(latest, batch.header.last_offset - base)
        path.with_suffix(names.OFFSET_INDEX).write_bytes(offsets)
        path.with_suffix(names.TIME_INDEX).write_bytes(times)
    return path


def put_checkpoint(log_dir: Path, name: str, partition: TopicPartition, offset: int) -> None:
    (log_dir / name).write_bytes(checkpoint.encode_offsets({partition: offset}))


def stop_cleanly(log_dir: Path) -> None:
    clean_shutdown.write(log_dir)
