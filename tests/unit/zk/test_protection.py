"""Who may read and write which znode, and that no creation escapes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kafka_zk
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


def test_only_the_session_chooses_access_lists_and_only_zk_makes_clients_of_kazoo() -> None:
    """(security 12.36) Whoever creates a znode goes through ZkClient, where nobody can forget its access list."""
    root = Path(kafka_zk.__file__).parent
    making, choosing = set(), set()
    for path in root.rglob("*.py"):
        text, name = path.read_text(), path.relative_to(root).as_posix()
        if re.search(r"\b(KazooClient|LoggedInClient)\(\n? *\w", text.replace("class LoggedInClient(KazooClient)", "")):
            making.add(name)
        if re.search(r"\bkazoo_calls\.(create|multi)\(", text):
            choosing.add(name)
            calls = re.findall(r"kazoo_calls\.(?:create|multi)\(.*", text)
            assert all("self._acl_for" in call for call in calls), name
    assert making == {"zk/kazoo_loop.py", "zk/kazoo_login.py"}
    assert choosing == {"zk/session.py"}
