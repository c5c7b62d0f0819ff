"""meta.properties: the broker id and cluster id of a log directory.

Layout      Java properties: an empty comment, a comment with the date, then broker.id, version and cluster.id in any
            order. ZooKeeper mode writes version 0. Version 1 (KRaft) names the broker node.id.
Source      MetaProperties, PropertiesUtils.writePropertiesFile.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from kafka_zk.log.files.disk import DISK, Disk, read_small

VERSION = 0
MAX_DIGITS = 10


class MalformedMetaProperties(OSError):
    """A meta.properties file that cannot be trusted: like a disk that fails, it ends the use of its directory."""


class MetaProperties(NamedTuple):
    broker_id: int | None
    cluster_id: str | None
    version: int = VERSION


def encode(meta: MetaProperties, now_ms: int) -> bytes:
    written = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
    lines = ["#", f"#{written}"]
    if meta.broker_id is not None:
        lines.append(f"broker.id={meta.broker_id}")
    lines.append(f"version={VERSION}")
    if meta.cluster_id is not None:
        lines.append(f"cluster.id={meta.cluster_id}")
    return "".join(f"{line}\n" for line in lines).encode()


def decode(content: bytes, path: Path) -> MetaProperties:
    """Raises MalformedMetaProperties."""
    properties = {}
    for line in content.decode("utf-8", "replace").splitlines():
        stripped = line.strip()
        if stripped and stripped[0] not in "#!":
            key, _, value = stripped.partition("=")
            properties[key.strip()] = value.strip()
    # As in Apache: a file that names no version is of version 0, also an empty or torn one, and is rewritten.
    version = properties.get("version", "0")
    if version not in ("0", "1"):
        raise MalformedMetaProperties(f"Unable to read the version from {path}: {version}")
    for key in ("cluster.id", "node.id") if version == "1" else ():
        if key not in properties:
            raise MalformedMetaProperties(f"{key} was not found in {path}")
    broker_id = properties.get("node.id" if version == "1" else "broker.id")
    digits = "0" if broker_id is None else broker_id[1:] if broker_id[:1] in ("-", "+") else broker_id
    if not (digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS):
        raise MalformedMetaProperties(f"Unable to parse broker.id from {path}: {broker_id}")
    return MetaProperties(
        None if broker_id is None else int(broker_id), properties.get("cluster.id"), version=int(version)
    )


def read(path: Path) -> MetaProperties | None:
    """What the file says; None when there is none. Raises MalformedMetaProperties, OSError."""
    try:
        return decode(read_small(path), path)  # What a broker writes has a hundred bytes.
    except FileNotFoundError:
        return None


def write(path: Path, meta: MetaProperties, now_ms: int, disk: Disk = DISK) -> None:
    """Replace the file. Raises OSError."""
    disk.replace_file(path, encode(meta, now_ms))
