"""Names of users that no znode can have."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_zk.admin.scram_credentials import describe_users
from kafka_zk.protocol.errors import ResourceNotFound


@pytest.mark.parametrize("user", [".", ".."])
def test_a_user_that_zookeeper_cannot_name_has_no_credential(user: str) -> None:
    nobody_asks: Any = None
    assert isinstance(dict(describe_users(nobody_asks, [user]))[user], ResourceNotFound)
