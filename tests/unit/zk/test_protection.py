"""Who may read and write which znode, and that no creation escapes it."""

from __future__ import annotations

import pytest

from kafka_zk.zk.operations import ANYONE_ALL, ANYONE_READ, CREATOR_ALL
from kafka_zk.zk.protection import protected


@pytest.mark.parametrize(
    ("path", "acl"),
    [
        ("/brokers/topics/t", (CREATOR_ALL, ANYONE_READ)),
        ("/config/users/bob", (CREATOR_ALL,)),
        ("/config/brokers/1", (CREATOR_ALL,)),
        ("/delegation_token/tokens/x", (CREATOR_ALL,)),
        ("/consumers", (ANYONE_ALL,)),
        ("/consumers/g", (CREATOR_ALL, ANYONE_READ)),
        ("/config/users", (CREATOR_ALL,)),
        ("/config/brokers-too", (CREATOR_ALL,)),
        ("/delegation_token", (CREATOR_ALL, ANYONE_READ)),
        ("/", (CREATOR_ALL, ANYONE_READ)),
    ],
)
def test_protected_znodes_are_readable_by_all_unless_they_hold_secrets(path: str, acl: object) -> None:
    assert tuple(protected(path)) == acl
