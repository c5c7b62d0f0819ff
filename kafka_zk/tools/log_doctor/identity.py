"""Checks that directories belong to the same broker and cluster, with the broker's own rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafka_zk.broker.identity import IdentityMismatch, check_identity
from kafka_zk.log.doctor.findings import IDENTITY_DIFFERS, Finding
from kafka_zk.log.doctor.log_dir import LogDir
from kafka_zk.log.files.names import META_PROPERTIES


def check_identities(log_dirs: Sequence[LogDir]) -> Iterator[Finding]:
    """One finding for each directory that does not agree with those before it."""
    agreed: list[LogDir] = []
    for log_dir in log_dirs:
        together = [*agreed, log_dir]
        cluster_id = next((each.meta.cluster_id for each in together if each.meta and each.meta.cluster_id), "")
        found = {each.path / META_PROPERTIES: each.meta for each in together}
        try:
            check_identity(found, cluster_id=cluster_id, broker_id=-1)
        except IdentityMismatch as error:
            first = agreed[0].path
            yield Finding(
                IDENTITY_DIFFERS,
                str(log_dir.path),
                "",
                META_PROPERTIES,
                f"not the same broker and cluster as {first}",
                f"stops with: {error}",
            )
        else:
            agreed.append(log_dir)
