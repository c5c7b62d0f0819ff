"""zookeeper-security-migration.sh gives each znode its access list, whatever becomes of others."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_zk.tools.zookeeper_security_migration.command import SECURE_ROOTS, migrate
from kafka_zk.zk.errors import NoAuth
from tests.simulation.model_zookeeper import ModelZooKeeper


@pytest.fixture
def server() -> ModelZooKeeper:
    server = ModelZooKeeper().with_kafka_paths()
    for root in SECURE_ROOTS:
        server.ensure(root)
    server.ensure("/config/topics/t")
    server.ensure("/kafka-acl/Topic/t")
    return server


def test_every_znode_of_kafka_gets_its_list(server: ModelZooKeeper) -> None:
    server.ensure("/somebody/else")
    zk: Any = server.client()
    assert migrate(zk, must_be_complete=True) == 0
    assert server.nodes.keys() - server.protected == {"/somebody", "/somebody/else", "/consumers"}


@pytest.mark.parametrize("refusing", ["/", "/config", "/config/topics/t", "/kafka-acl/Topic/t"])
def test_a_znode_that_refuses_ends_in_an_error_and_keeps_no_other_open(
    server: ModelZooKeeper, capsys: pytest.CaptureFixture[str], refusing: str
) -> None:
    server.forbidden.add(refusing)
    zk: Any = server.client()
    with pytest.raises(NoAuth):
        migrate(zk, must_be_complete=False)
    assert server.nodes.keys() - server.protected == {refusing, "/consumers"}
    assert capsys.readouterr().out == "Unexpected return code: -102\n"


def test_what_does_not_show_its_children_ends_in_an_error_and_keeps_no_other_open(server: ModelZooKeeper) -> None:
    server.hidden.add("/config/topics")
    zk: Any = server.client()
    with pytest.raises(NoAuth):
        migrate(zk, must_be_complete=False)
    assert server.nodes.keys() - server.protected == {"/config/topics/t", "/consumers"}
