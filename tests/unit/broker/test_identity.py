"""A broker starts only on its own data."""

from pathlib import Path

import pytest

from kafka_zk.broker.identity import IdentityMismatch, check_identity, new_cluster_id, stored_broker_id
from kafka_zk.log.files.meta_properties import MetaProperties

A, B = Path("/a/meta.properties"), Path("/b/meta.properties")
MINE = MetaProperties(broker_id=1, cluster_id="C")


def test_fresh_directories_fit_any_broker():
    check_identity({A: None, B: None}, cluster_id="C", broker_id=1)
    assert stored_broker_id({A: None, B: None}) is None


def test_directories_of_this_broker_and_new_ones_may_be_mixed():
    check_identity({A: MINE, B: None}, cluster_id="C", broker_id=1)
    assert stored_broker_id({A: None, B: MINE}) == 1


def test_data_of_another_cluster_is_refused():
    with pytest.raises(IdentityMismatch, match=r"Invalid cluster.id in: /a/meta.properties. Expected D, but read C"):
        check_identity({A: MINE}, cluster_id="D", broker_id=1)


def test_data_of_another_broker_is_refused():
    with pytest.raises(IdentityMismatch, match="Stored node id 1 doesn't match previous node id 2 in /a/meta"):
        check_identity({A: MINE}, cluster_id="C", broker_id=2)


def test_data_of_kraft_are_refused():
    with pytest.raises(IdentityMismatch, match=r"Found unexpected version in /b/meta\.properties"):
        check_identity({A: MINE, B: MINE._replace(version=1)}, cluster_id="C", broker_id=1)


def test_directories_of_two_brokers_are_refused_even_when_no_id_is_configured():
    with pytest.raises(IdentityMismatch, match="Stored node id 2 doesn't match previous node id 1"):
        check_identity({A: MINE, B: MINE._replace(broker_id=2)}, cluster_id="C", broker_id=-1)


def test_a_new_cluster_id_has_22_characters_and_never_looks_like_an_option():
    ids = {new_cluster_id() for _ in range(500)}
    assert len(ids) == 500
    assert all(len(text) == 22 and not text.startswith("-") for text in ids)
