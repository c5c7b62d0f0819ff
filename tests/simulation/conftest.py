"""The cluster of the scenes, and silence for lives."""

import logging
import math

import pytest

from kafka_zk import giving_way
from tests.simulation.fake_cluster import FakeCluster


@pytest.fixture(scope="module", autouse=True)
def no_turns_by_time():
    """How fast the machine is decides nothing here: a history repeats."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(giving_way, "SLICE_S", math.inf)
        patch.setattr(giving_way, "TURN_NS", math.inf)
        yield


@pytest.fixture
def cluster(request):
    made = FakeCluster([1, 2, 3], auto_leader_rebalance_enable=False)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def quiet():
    """Each life logs thousands of lines."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
