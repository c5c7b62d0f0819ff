"""The cluster of the scenes."""

import pytest

from tests.simulation.fake_cluster import FakeCluster


@pytest.fixture
def cluster(request):
    made = FakeCluster([1, 2, 3], auto_leader_rebalance_enable=False)
    made.start()
    yield made
    made.stop()
