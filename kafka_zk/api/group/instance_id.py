"""What a static member may be called.

Role        Pure; shared by the requests that name one.
Source      JoinGroupRequest.validateGroupInstanceId.
"""

from __future__ import annotations

import re

from kafka_zk.network.errors import CloseConnection

_LENGTH_MAX = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_group_instance_id(group_instance_id: str | None) -> None:
    """Raise CloseConnection for an id that no client would send: Kafka fails to parse such a request."""
    if group_instance_id is None:
        return
    if (
        group_instance_id in ("", ".", "..")
        or len(group_instance_id) > _LENGTH_MAX
        or not _LEGAL.fullmatch(group_instance_id)
    ):
        raise CloseConnection(f"Group instance id is invalid: {group_instance_id!r}")
