"""Nobody is shown a cluster without brokers while the controller has a chance to speak."""

from __future__ import annotations

import gevent
import pytest

from kafka_zk import giving_way
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metadata.first_update import FirstUpdate
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataRequest,
)

PATIENCE_S = 10


def names_a_broker() -> UpdateMetadataRequest:
    endpoint = UpdateMetadataEndpoint(host="h", port=1, listener="PLAINTEXT", security_protocol=0)
    return UpdateMetadataRequest(live_brokers=[UpdateMetadataBroker(id=0, endpoints=[endpoint])])


def test_who_asks_early_waits_for_the_first_broker() -> None:
    cache = MetadataCache()
    first = FirstUpdate(cache, wait_s=PATIENCE_S)
    waiting = gevent.spawn(first.wait)
    gevent.idle()
    cache.update(UpdateMetadataRequest())
    gevent.idle()
    assert not waiting.ready(), "an update without brokers is not what it waits for"
    cache.update(names_a_broker())
    waiting.join(PATIENCE_S)
    assert waiting.successful()


def test_who_asks_later_does_not_wait() -> None:
    cache = MetadataCache()
    first = FirstUpdate(cache, wait_s=PATIENCE_S)
    cache.update(names_a_broker())
    others = gevent.spawn(lambda: None)
    first.wait()
    assert not others.ready(), "it switched"


def test_a_controller_that_says_nothing_is_waited_for_once() -> None:
    first = FirstUpdate(MetadataCache(), wait_s=0.01)
    first.wait()
    others = gevent.spawn(lambda: None)
    first.wait()
    assert not others.ready(), "it waited again"


def test_an_answer_that_must_wait_leaves_its_place_to_others() -> None:
    """With every place of the request channel taken by clients that wait, the controller could not speak."""
    cache = MetadataCache()
    first = FirstUpdate(cache, wait_s=PATIENCE_S)
    early = first.answer(lambda: "told")
    assert isinstance(early, Pending)
    assert not early.is_done
    cache.update(names_a_broker())
    assert early.result(PATIENCE_S * 1000) == "told"
    assert first.answer(lambda: "at once") == "at once"


def test_an_answer_that_must_wait_is_made_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many clients wait for the same word of the controller, and each may ask for every topic."""
    turns: list[str] = []
    monkeypatch.setattr(giving_way, "TURN_NS", 0)
    monkeypatch.setattr(giving_way._turn, "pause", lambda: turns.append("of others"))
    early = FirstUpdate(MetadataCache(), wait_s=0.01).answer(lambda: list(giving_way.in_turns("abc")))
    assert isinstance(early, Pending)
    assert early.result(PATIENCE_S * 1000) == ["a", "b", "c"]
    assert turns == ["of others"] * 3


def test_an_answer_that_fails_later_fails_as_it_would_have_at_once() -> None:
    first = FirstUpdate(MetadataCache(), wait_s=0.01)
    early = first.answer(lambda: {}["missing"])
    assert isinstance(early, Pending)
    with pytest.raises(KeyError):
        early.result(PATIENCE_S * 1000)
