"""Which partitions this broker coordinates, as orders of the controller come late, twice and out of their order."""

from __future__ import annotations

from kafka_zk.coordinator.ownership import Ownership
from kafka_zk.protocol.errors import ErrorCode


def owner(leader_epoch: int) -> Ownership:
    """Of partition 0, since this epoch."""
    ownership = Ownership("__consumer_offsets")
    load = ownership.elected(0, leader_epoch)
    assert load is not None
    assert ownership.check(0) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    ownership.loaded(load)
    assert ownership.check(0) is ErrorCode.NONE
    return ownership


def test_a_partition_that_was_never_led_is_another_brokers():
    assert Ownership("__consumer_offsets").check(0) is ErrorCode.NOT_COORDINATOR


def test_an_order_to_follow_in_an_older_epoch_comes_too_late():
    ownership = owner(5)
    assert not ownership.resigned(0, 4)
    assert ownership.check(0) is ErrorCode.NONE


def test_an_order_to_lead_in_an_older_epoch_loads_nothing():
    ownership = owner(5)
    assert ownership.resigned(0, 6)
    assert ownership.elected(0, 5) is None
    assert ownership.check(0) is ErrorCode.NOT_COORDINATOR


def test_a_leader_that_is_elected_again_loads_nothing_anew():
    ownership = owner(5)
    load = ownership.loaded_by(0)
    assert ownership.elected(0, 6) is None
    assert ownership.check(0) is ErrorCode.NONE
    assert load is not None and ownership.loaded_by(0) is load and load.leader_epoch == 6
    assert not ownership.resigned(0, 5), "it leads since epoch 6"


def test_a_load_is_over_when_the_partition_goes_and_another_one_begins_when_it_returns():
    ownership = Ownership("__consumer_offsets")
    first = ownership.elected(0, 1)
    assert first is not None and ownership.resigned(0, 2)
    second = ownership.elected(0, 3)
    assert second is not None
    assert not ownership.is_current(first) and ownership.is_current(second)
    ownership.failed(first)
    assert ownership.check(0) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "what failed was overtaken already"


def test_a_partition_that_is_gone_for_good_is_given_up_whatever_the_epoch():
    ownership = owner(5)
    assert ownership.resigned(0, None)
    assert ownership.check(0) is ErrorCode.NOT_COORDINATOR
    assert ownership.elected(0, 0) is not None, "made anew it begins with epoch 0"
